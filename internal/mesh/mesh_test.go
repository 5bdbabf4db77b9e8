package mesh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/watchtest"
)

// station is a mesh that records what it receives.
type station struct {
	*Mesh
	t    *testing.T
	name string

	mu   sync.Mutex
	got  []Frame
	lost atomic.Int64
}

// patient is the timing of most tests: no connection ends because the machine is slow.
var patient = timing{handshake: time.Minute, dial: time.Minute, beat: 20 * time.Millisecond, silence: time.Minute,
	first: 5 * time.Millisecond, last: 50 * time.Millisecond, deference: time.Millisecond}

func open(t *testing.T, name string, change ...func(*Options)) *station {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return openAt(t, l, name, change...)
}

func openAt(t *testing.T, l net.Listener, name string, change ...func(*Options)) *station {
	t.Helper()
	s := &station{t: t, name: name}
	o := Options{
		Name: name, Key: testKey, Receive: s.receive, timing: patient,
		Lost:   func(uint32) { s.lost.Add(1) },
		Report: func(err error) { t.Error(err) },
		Answer: func(_ context.Context, from, what string, question []byte) ([]byte, error) {
			return fmt.Appendf(nil, "%s asks %s for %s: %s", from, name, what, question), nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if s.Mesh, err = Open(l, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.SetNodes(everybody)
	return s
}

func (s *station) receive(from uint32, frames []Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range frames {
		if f.Kind != KindEvent && f.Client.Node != from {
			s.t.Errorf("a frame of node %d has a client at %d", from, f.Client.Node)
		}
		f.Name, f.Data = slices.Clone(f.Name), slices.Clone(f.Data)
		s.got = append(s.got, f)
	}
}

// frames returns what was received so far.
func (s *station) frames() []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *station) node() Node { return Node{s.name, s.Addr().String()} }

// everybody lists all nodes of these tests without an address: they may connect.
var everybody = []Node{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "x"}, {Name: "y"}}

func (s *station) knows(others ...*station) {
	list := slices.Clone(everybody)
	for _, o := range others {
		list = append(list, o.node())
	}
	s.SetNodes(list)
}

func (s *station) connected(want string) {
	s.t.Helper()
	watchtest.Until(s.t, s.name+" is connected with "+want,
		func() bool { return strings.Join(s.Connected(), " ") == want })
}

func packet(route uint32, text string) *Frame {
	return &Frame{Kind: KindPacket, Name: []byte("main"), Part: 1,
		Client: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000"), Route: route}, Data: []byte(text)}
}

// TestMesh: three nodes that are given each other's addresses send each other frames and
// requests.
func TestMesh(t *testing.T) {
	t.Parallel()
	a, b, c := open(t, "a"), open(t, "b"), open(t, "c")
	for _, s := range []*station{a, b, c} {
		s.knows(a, b, c)
	}
	a.connected("b c")
	b.connected("a c")
	c.connected("a b")
	sent, lost := uint64(0), uint64(0)
	send := func(to string) bool {
		ok := a.Send(Number(to), packet(0, "hello"))
		if ok {
			sent++
		} else {
			lost++
		}
		return ok
	}
	if send("d") {
		t.Error("a packet for a node that is unknown was sent")
	}
	// Both may have dialled: a frame on the connection that is closed then is lost.
	watchtest.Until(t, "it arrives", func() bool {
		if len(b.frames()) == 0 {
			send("b")
		}
		return len(b.frames()) > 0
	})
	want := *packet(0, "hello")
	want.Client.Node = Number("a")
	if got := b.frames()[0]; got.Kind != want.Kind || got.Client != want.Client || string(got.Data) != "hello" ||
		got.Part != 1 || string(got.Name) != "main" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got, err := a.Ask(t.Context(), "c", "status", []byte("how?"))
	if want := "a asks c for status: how?"; err != nil || string(got) != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
	if _, err := a.Ask(t.Context(), "d", "status", nil); !errors.Is(err, ErrAway) {
		t.Errorf("a question to nobody: got %v, want ErrAway", err)
	}
	if got := a.Stats(); got.Sent != sent || got.Lost != lost {
		t.Errorf("got %+v, want %d sent and %d lost", got, sent, lost)
	}
}

// TestOneSideKnows: it suffices if one of two nodes has the other's address.
func TestOneSideKnows(t *testing.T) {
	t.Parallel()
	for _, dials := range []string{"a", "b"} {
		a, b := open(t, "a"), open(t, "b")
		if dials == "a" {
			a.knows(b)
		} else {
			b.knows(a)
		}
		a.connected("b")
		b.connected("a")
		a.SetNodes(nil)
		b.SetNodes(nil)
		if !a.Send(Number("b"), packet(0, "x")) {
			t.Error("a node that is not listed any more is not heard, though it is connected")
		}
		b.Close()
		a.connected("")
		watchtest.Until(t, "no node is remembered", func() bool { return len(*a.nodes.Load()) == 0 })
	}
}

// TestBothDial: when both dial at the same moment, again and again, both keep the same
// one connection.
func TestBothDial(t *testing.T) {
	t.Parallel()
	for range 30 {
		a, b := open(t, "a"), open(t, "b")
		var ready sync.WaitGroup
		for _, s := range [][2]*station{{a, b}, {b, a}} {
			ready.Go(func() { s[0].knows(s[1]) })
		}
		ready.Wait()
		same := func() bool {
			x, y := a.conn(Number("b")), b.conn(Number("a"))
			return x != nil && y != nil && x.nc.LocalAddr().String() == y.nc.RemoteAddr().String()
		}
		watchtest.Until(t, "both have the same connection, and no other",
			func() bool { return same() && a.Stats().Open == 1 && b.Stats().Open == 1 })
		watchtest.Until(t, "it is used", func() bool {
			got, err := b.Ask(t.Context(), "a", "x", nil)
			return err == nil && string(got) == "b asks a for x: "
		})
		a.Close()
		b.Close()
	}
}

// TestRestart: a node whose process was lost is found again, at another address too, and
// requests to the old one fail.
func TestRestart(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	a := open(t, "a")
	b := open(t, "b", func(o *Options) {
		o.Answer = func(ctx context.Context, _, _ string, _ []byte) ([]byte, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	a.knows(b)
	a.connected("b")
	failed := make(chan error, 1)
	go func() {
		_, err := a.Ask(context.Background(), "b", "x", nil)
		failed <- err
	}()
	<-asked
	b.Close()
	if err := <-failed; !errors.Is(err, ErrAway) {
		t.Errorf("what was asked of a node that has ended: got %v, want ErrAway", err)
	}
	a.connected("")
	watchtest.Until(t, "the loss is told", func() bool { return a.lost.Load() == 1 })
	b = open(t, "b")
	a.knows(b)
	a.connected("b")
	if _, err := a.Ask(t.Context(), "b", "x", nil); err != nil {
		t.Error(err)
	}
}

// TestNameIsNotTaken: another process with the name of a node does not take its place while
// that is connected, though it has the key. When the connection has ended it does.
func TestNameIsNotTaken(t *testing.T) {
	t.Parallel()
	asked := func(by string) func(o *Options) {
		return func(o *Options) {
			o.Answer = func(context.Context, string, string, []byte) ([]byte, error) { return []byte(by), nil }
		}
	}
	a, b := open(t, "a"), open(t, "b", asked("the node"))
	b.knows(a)
	a.connected("b")
	old := a.conn(Number("b"))
	again := open(t, "b", asked("the other one"))
	again.knows(a)
	watchtest.Until(t, "it is refused", func() bool { return a.Stats().Refused > 2 })
	if got, err := a.Ask(t.Context(), "b", "x", nil); err != nil || string(got) != "the node" ||
		a.conn(Number("b")) != old {
		t.Errorf("%q has answered, %v", got, err)
	}
	b.Close()
	watchtest.Until(t, "it has the place that is free", func() bool {
		got, err := a.Ask(t.Context(), "b", "x", nil)
		return err == nil && string(got) == "the other one"
	})
}

// TestListed: a process that has the key is refused until it is listed as a node.
func TestListed(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", func(o *Options) { o.timing.handshake = 10 * time.Millisecond })
	b.SetNodes([]Node{{Name: "c"}})
	a.knows(b)
	watchtest.Until(t, "it is refused", func() bool { return b.Stats().Refused > 0 })
	b.connected("")
	b.SetNodes([]Node{{Name: "a"}})
	b.connected("a")
	a.connected("b")
}

// TestRequests: a refusal has its reason, a deadline ends a request, and only so many are
// answered at once.
func TestRequests(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	a := open(t, "a")
	b := open(t, "b", func(o *Options) {
		o.Answer = func(ctx context.Context, _, what string, _ []byte) ([]byte, error) {
			switch what {
			case "no":
				return nil, errors.New("there is no such thing")
			case "long":
				return make([]byte, MaxData+1), nil
			case "panic":
				panic("oops")
			}
			<-hold
			return nil, nil
		}
	})
	a.knows(b)
	a.connected("b")
	for what, want := range map[string]string{
		"no": "b: there is no such thing", "long": "b: the answer has",
		"panic": "b: panic in the answer to a node: oops",
	} {
		_, err := a.Ask(t.Context(), "b", what, nil)
		var no *RefusedError
		if !errors.As(err, &no) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := a.Ask(ctx, "b", "hold", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a node that does not answer: got %v, want context.DeadlineExceeded", err)
	}
	var answers sync.WaitGroup
	var refused, answered atomic.Int64
	for range 3 * maxPendingRequests {
		answers.Go(func() {
			_, err := a.Ask(t.Context(), "b", "hold", nil)
			var no *RefusedError
			switch {
			case errors.As(err, &no):
				refused.Add(1)
			case err == nil:
				answered.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	watchtest.Until(t, "the rest is refused",
		func() bool { return refused.Load() == 3*maxPendingRequests-(maxPendingRequests-1) })
	close(hold)
	answers.Wait()
	if got := answered.Load(); got != maxPendingRequests-1 { // one place has the request that was given up
		t.Errorf("got %d answers, want %d", got, maxPendingRequests-1)
	}
	list := &a.conn(Number("b")).requests
	list.mu.Lock()
	defer list.mu.Unlock()
	if n := len(list.waiting); n != 0 {
		t.Errorf("%d requests are still waited for", n)
	}
}

// TestEvents: events go to every subscriber, also after the connection was lost: then the
// subscriber is told that some were missed.
func TestEvents(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	a, c := open(t, "a"), open(t, "c")
	b := open(t, "b", func(o *Options) {
		o.Subscribed = func(name string) {
			if told.Add(1); name != "main" {
				t.Errorf("somebody wants %s", name)
			}
		}
	})
	a.Subscribe("main", true)
	a.knows(c)
	b.knows(a, c)
	b.connected("a c")
	watchtest.Until(t, "b knows what a wants", func() bool { return b.Wanted("main") })
	if b.Wanted("other") || c.Wanted("other") {
		t.Error("nobody wants these")
	}
	b.Publish("main", 5, []byte("five"))
	b.Publish("other", 5, []byte("other"))
	watchtest.Until(t, "it arrives", func() bool { return len(a.frames()) == 1 })
	if got := a.frames()[0]; got.Kind != KindEvent || got.ID != 5 || string(got.Data) != "five" {
		t.Errorf("got %+v", got)
	}
	before := told.Load()
	if before == 0 {
		t.Error("b is not told what a wants")
	}
	a.conn(Number("b")).end()
	watchtest.Until(t, "a is back and wants it still",
		func() bool { return len(a.Connected()) == 2 && b.Wanted("main") && told.Load() > before })
	a.Subscribe("main", false)
	watchtest.Until(t, "nobody wants it", func() bool { return !b.Wanted("main") })
	if got := c.frames(); len(got) != 0 {
		t.Errorf("c has received %+v, which it did not want", got)
	}
}

// greet opens a proven connection to s by hand, as node name.
func greet(t *testing.T, s *station, name string) (net.Conn, secrets) {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	h := handshake{testKey, name, [8]byte{1}}
	_, k, err := h.dial(nc, s.name)
	if err != nil {
		t.Fatal(err)
	}
	watchtest.Until(t, "it is taken for a node", func() bool { return slices.Contains(s.Connected(), name) })
	return nc, k
}

// TestNeverReads: for a node that does not read, packets are dropped, the newest events are
// kept, and no sender waits; in the end the connection is closed.
func TestNeverReads(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	nc, k := greet(t, a, "b")
	nc.Write(k.out.seal(nil, must(t, &Frame{Kind: KindSubscribe, Name: []byte("main")})))
	watchtest.Until(t, "b wants events", func() bool { return a.Wanted("main") })
	c := a.conn(Number("b"))
	full := packet(0, strings.Repeat("x", 1000))
	for lost := 0; lost < 1000; {
		if !a.Send(Number("b"), full) {
			lost++
		}
	}
	c.box.mu.Lock()
	waiting := len(c.box.frames)
	c.box.mu.Unlock()
	if waiting > roomDatagrams {
		t.Errorf("%d bytes wait, more than %d", waiting, roomDatagrams)
	}
	for i := range 10 * maxEvents {
		a.Publish("main", uint64(i%10), binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	c.box.mu.Lock()
	events := len(c.box.events)
	for _, e := range c.box.events {
		if got := binary.BigEndian.Uint32(e.data); got < 10*maxEvents-10 {
			t.Errorf("event %d of %d waits, which is not the newest", got, e.key.id)
		}
	}
	c.box.mu.Unlock()
	if events > 10 {
		t.Errorf("%d events wait, want one for each of 10", events)
	}
	stream := packet(7, strings.Repeat("x", 1000))
	for n := 0; a.Send(Number("b"), stream); n++ {
		if n > roomAll {
			t.Fatal("packets of connections wait without a bound")
		}
	}
	a.connected("")
	if got := a.Stats().Behind; got != 1 {
		t.Errorf("got %d connections given up, want 1", got)
	}
}

func must(t *testing.T, f *Frame) []byte {
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSilent: a node that sends nothing any more, not even signs of life, is dropped; one
// without frames to send is not.
func TestSilent(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a", func(o *Options) { o.timing.silence = 12 * time.Second }), open(t, "b")
	a.knows(b)
	a.connected("b")
	first := a.conn(Number("b"))
	greet(t, a, "c")
	watchtest.Until(t, "c is given up", func() bool { return strings.Join(a.Connected(), " ") == "b" })
	if a.conn(Number("b")) != first {
		t.Error("the connection to a node that has nothing to say was given up")
	}
}

// TestLiars: a node that lies about sizes, is cut in the middle of a record, or sends what is
// no frame loses its connection, and nothing else happens.
func TestLiars(t *testing.T) {
	t.Parallel()
	whole := must(t, packet(0, "whole"))
	for name, lie := range map[string]func(nc net.Conn, k secrets){
		"a record that is too long":  func(nc net.Conn, k secrets) { nc.Write([]byte{0xff, 0xff, 0xff, 0xff}) },
		"a record that is too short": func(nc net.Conn, k secrets) { nc.Write([]byte{0, 0, 0, 1, 0}) },
		"cut in a record": func(nc net.Conn, k secrets) {
			b := k.out.seal(nil, whole)
			nc.Write(b[:len(b)-5])
			nc.Close()
		},
		"a longer frame": func(nc net.Conn, k secrets) { nc.Write(k.out.seal(nil, []byte{1, 0, 0, 99, 1})) },
		"half a frame":   func(nc net.Conn, k secrets) { nc.Write(k.out.seal(nil, whole[:9])) },
		"said twice":     func(nc net.Conn, k secrets) { b := k.out.seal(nil, nil); nc.Write(append(b, b...)) },
		"wants too much": func(nc net.Conn, k secrets) { nc.Write(k.out.seal(nil, greedy(t))) },
		"not sealed at all": func(nc net.Conn,
			k secrets) {
			nc.Write(append([]byte{0, 0, 0, byte(len(whole))}, whole...))
		},
	} {
		a := open(t, "a")
		nc, k := greet(t, a, "b")
		lie(nc, k)
		watchtest.Until(t, name+": the connection ends", func() bool { return len(a.Connected()) == 0 })
		if got := a.frames(); len(got) != 0 {
			t.Errorf("%s: %+v was received", name, got)
		}
		a.Close()
	}
}

func greedy(t *testing.T) (frames []byte) {
	for i := range maxSubscriptions + 1 {
		frames = append(frames, must(t, &Frame{Kind: KindSubscribe, Name: fmt.Append(nil, i)})...)
	}
	return frames
}

// TestUnproven: connections that send nothing, or nonsense, are few and end soon, and do not
// keep a node out.
func TestUnproven(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a", func(o *Options) { o.timing.handshake = 2 * time.Second }), open(t, "b")
	var silent []net.Conn
	for range 3 * maxUnproven {
		nc, err := net.Dial("tcp", a.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		silent = append(silent, nc)
		a.unproven.mu.Lock()
		if n := len(a.unproven.conns); n > maxUnproven {
			t.Errorf("%d connections are unproven at once", n)
		}
		a.unproven.mu.Unlock()
	}
	b.knows(a)
	b.connected("a")
	for _, nc := range silent { // all have ended, by themselves
		nc.SetReadDeadline(time.Now().Add(watchtest.Patience))
		if _, err := nc.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a silent connection is still open: %v", err)
		}
	}
	watchtest.Until(t, "all were refused", func() bool { return a.Stats().Refused == 3*maxUnproven })
	nc, err := net.Dial("tcp", a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Write(make([]byte, helloMAC))
	if got, err := io.ReadAll(nc); len(got) != 0 {
		t.Errorf("nonsense is answered with %x (%v)", got, err)
	}
	a.connected("b")
}

// TestWrongKey: a node with another key stays alone, and logs that once.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b", func(o *Options) { o.Key = Key{9} })
	a.knows(b)
	b.knows(a)
	watchtest.Until(t, "both have refused", func() bool { return a.Stats().Refused > 2 && b.Stats().Refused > 2 })
	if len(a.Connected())+len(b.Connected()) != 0 {
		t.Error("nodes with different keys are connected")
	}
}

// TestManyFrames: frames arrive in order, however they are divided into records.
func TestManyFrames(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b")
	a.knows(b)
	a.connected("b")
	const n = 5000
	for i := range n {
		f := packet(9, strings.Repeat("x", i%1000)) // of a connection: none is lost
		f.Client.Route = uint32(i + 1)
		for !a.Send(Number("b"), f) {
			t.Fatal("not sent")
		}
	}
	if _, err := a.Ask(t.Context(), "b", "big", make([]byte, MaxData)); err == nil {
		t.Error("the answer is longer than the question, and was too long")
	}
	watchtest.Until(t, "all arrive", func() bool { return len(b.frames()) == n })
	for i, f := range b.frames() {
		if f.Client.Route != uint32(i+1) || len(f.Data) != i%1000 {
			t.Fatalf("frame %d: got %d with %d bytes", i, f.Client.Route, len(f.Data))
		}
	}
}

func BenchmarkRelay(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var got atomic.Int64
	x, err := Open(l, Options{Name: "x", Key: testKey,
		Receive: func(_ uint32, frames []Frame) { got.Add(int64(len(frames))) }})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	x.SetNodes(everybody)
	y, err := Open(nil, Options{Name: "y", Key: testKey})
	if err != nil {
		b.Fatal(err)
	}
	defer y.Close()
	y.SetNodes(append(slices.Clone(everybody), Node{"x", l.Addr().String()}))
	for len(y.Connected()) == 0 {
		time.Sleep(time.Millisecond)
	}
	f := packet(0, strings.Repeat("x", 60))
	to := x.Self()
	b.ReportAllocs()
	for b.Loop() {
		for !y.Send(to, f) {
			time.Sleep(10 * time.Microsecond)
		}
	}
	for got.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
}

// TestUnreachable: a node that does not answer may have crashed or stopped; the log does not
// claim that it serves.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := Node{"gone", l.Addr().String()}
	l.Close()
	log := &watchtest.Log{}
	s := open(t, "a", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	s.SetNodes([]Node{gone})
	watchtest.Until(t, "it is said", func() bool {
		return strings.Contains(log.String(),
			"a node does not answer; if it lives, its players are served only at its own address")
	})
}
