package mesh

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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

	mu         sync.Mutex
	got        []Frame
	events     []string
	lost, left atomic.Int64
}

// patient is the timing of most tests: no connection ends because the machine is slow.
var patient = timing{handshake: time.Minute, dial: time.Minute, silence: 2 * time.Minute,
	first: 5 * time.Millisecond, last: 50 * time.Millisecond}

func open(t *testing.T, name string, change ...func(*Options)) *station {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &station{t: t, name: name}
	o := Options{
		Name: name, Receive: s.receive, timing: patient,
		Event: func(name string, data []byte) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, name+" "+string(data))
		},
		Lost:   func(uint32) { s.lost.Add(1) },
		Left:   func(uint32) { s.left.Add(1) },
		Report: func(err error) { t.Error(err) },
		Answer: func(_ context.Context, from, what string, question []byte) ([]byte, error) {
			return fmt.Appendf(nil, "%s asks %s for %s: %s", from, name, what, question), nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	if s.Mesh, err = Open(l, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *station) receive(from uint32, frames []Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range frames {
		if f.Client.Node != from {
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

func (s *station) node() Node { return Node{s.name, s.Addr().String(), s.Key()} }

// silent is the node without an address: it is accepted, and not dialled.
func (s *station) silent() Node { return Node{s.name, "", s.Key()} }

func (s *station) knows(others ...*station) {
	var list []Node
	for _, o := range others {
		list = append(list, o.node())
	}
	s.SetNodes(list)
}

// reaches makes s dial the other one, which does not dial s.
func (s *station) reaches(other *station) {
	s.t.Helper()
	other.SetNodes([]Node{s.silent()})
	s.SetNodes([]Node{other.node()})
	s.connected(other.name)
}

func (s *station) connected(want string) {
	s.t.Helper()
	watchtest.Until(s.t, s.name+" is connected to "+want,
		func() bool { return strings.Join(s.Connected(), " ") == want })
}

func packet(route uint32, text string) *Frame {
	return &Frame{Kind: KindPacket, Name: []byte("main"), Part: 1,
		Client: wamble.Peer{Addr: netip.MustParseAddrPort("192.0.2.7:4000"), Route: route}, Data: []byte(text)}
}

// reply returns the reply to a packet at the node that has received it.
func reply(to *Frame, text string) *Frame {
	f := *to
	f.Kind, f.Data = KindReply, []byte(text)
	return &f
}

// TestMesh: three nodes that are given each other's addresses and keys send each other packets, replies
// and questions.
func TestMesh(t *testing.T) {
	t.Parallel()
	a, b, c := open(t, "a"), open(t, "b"), open(t, "c")
	for _, s := range []*station{a, b, c} {
		s.knows(a, b, c)
	}
	a.connected("b c")
	b.connected("a c")
	c.connected("a b")
	if a.Send(Number("d"), packet(0, "hello")) {
		t.Error("a packet for a node that is unknown was sent")
	}
	if !a.Send(Number("b"), packet(0, "hello")) {
		t.Error("not sent")
	}
	watchtest.Until(t, "it arrives", func() bool { return len(b.frames()) > 0 })
	want := packet(0, "hello")
	want.Client.Node = Number("a")
	got := b.frames()[0]
	if got.Kind != want.Kind || got.Client != want.Client || string(got.Data) != "hello" || got.Part != 1 ||
		string(got.Name) != "main" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !b.Send(got.Client.Node, reply(&got, "you, too")) {
		t.Error("the reply is not sent")
	}
	watchtest.Until(t, "the reply arrives", func() bool { return len(a.frames()) > 0 })
	if got := a.frames()[0]; got.Kind != KindReply || got.Client.Addr != want.Client.Addr ||
		string(got.Data) != "you, too" {
		t.Errorf("got %+v", got)
	}
	answer, err := a.Ask(t.Context(), "c", "status", []byte("how?"))
	if want := "a asks c for status: how?"; err != nil || string(answer) != want {
		t.Errorf("got %q and %v, want %q", answer, err, want)
	}
	if _, err := a.Ask(t.Context(), "d", "status", nil); !errors.Is(err, ErrAway) {
		t.Errorf("a question to nobody: got %v, want ErrAway", err)
	}
	if got := a.Stats(); got.Sent != 1 || got.Lost != 1 || got.Received != 1 || got.Open != 2 {
		t.Errorf("got %+v, want 1 sent, 1 lost, 1 received, 2 open", got)
	}
}

// TestIdentity: a process without the key of a listed node is neither accepted nor taken for one that is
// dialled, whatever its name.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a func(a, b, x *station) Node // as b lists it
		b func(a, b, x *station) Node // as a lists it
	}{
		"a taken name at the dialling end": {
			func(_, _, x *station) Node { return Node{"a", "", x.Key()} },
			func(_, b, _ *station) Node { return b.node() }},
		"a taken name at the listening end": {
			func(a, _, _ *station) Node { return a.silent() },
			func(_, b, x *station) Node { return Node{"b", b.Addr().String(), x.Key()} }},
		"the key of the other end": {
			func(_, b, _ *station) Node { return Node{"a", "", b.Key()} },
			func(a, b, _ *station) Node { return Node{"b", b.Addr().String(), a.Key()} }},
		"not listed": {
			func(_, _, x *station) Node { return x.silent() },
			func(_, b, _ *station) Node { return b.node() }},
		"without a key, as an older version": {
			func(_, _, _ *station) Node { return Node{"a", "", ""} },
			func(_, b, _ *station) Node { return b.node() }},
		"no key": {
			func(_, _, _ *station) Node { return Node{"a", "", "no key"} },
			func(_, b, _ *station) Node { return Node{"b", b.Addr().String(), "no key"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short := func(o *Options) { o.timing.handshake = 10 * time.Millisecond }
			a, b, x := open(t, "a"), open(t, "b", short), open(t, "x")
			b.SetNodes([]Node{tc.a(a, b, x)})
			a.SetNodes([]Node{tc.b(a, b, x)})
			watchtest.Until(t, "it is refused", func() bool { return b.Stats().Refused > 2 })
			if len(a.Connected()) != 0 || a.Send(Number("b"), packet(0, "x")) || b.Stats().Received != 0 {
				t.Error("they are connected")
			}
		})
	}
}

// TestNotListedYet: a node that dials before it is listed makes the list be read, and is accepted when it
// is listed.
func TestNotListedYet(t *testing.T) {
	t.Parallel()
	unlisted := make(chan struct{}, 1)
	a, b := open(t, "a"), open(t, "b", func(o *Options) { o.Unlisted = func() { unlisted <- struct{}{} } })
	a.knows(b)
	<-unlisted
	b.SetNodes([]Node{a.silent()})
	a.connected("b")
	if got := b.Stats().Refused; got != 0 {
		t.Errorf("%d connections were refused, want none", got)
	}
}

// TestRestart: a node whose process was lost is found again at another address with another key, and
// requests to the old one fail. That it was lost is said once for each direction.
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
	b.knows(a)
	a.connected("b")
	b.connected("a")
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
	watchtest.Until(t, "the loss is told", func() bool { return a.lost.Load() == 1 && a.left.Load() == 1 })
	b = open(t, "b")
	a.knows(b)
	b.knows(a)
	a.connected("b")
	b.connected("a")
	if _, err := a.Ask(t.Context(), "b", "x", nil); err != nil {
		t.Error(err)
	}
	a.SetNodes(nil)
	if !a.Send(Number("b"), packet(0, "x")) {
		t.Error("a node that is not listed any more is not heard, though it is connected")
	}
	b.Close()
	watchtest.Until(t, "no node is remembered", func() bool {
		a.SetNodes(nil)
		return len(*a.nodes.Load()) == 0
	})
}

// TestTakeOver: a process of a node that dials while an earlier connection of the node has not noticed its
// end takes its place, after the end was told.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b")
	a.reaches(b)
	a.Send(b.Self(), packet(1, "old"))
	watchtest.Until(t, "b knows a", func() bool { return len(b.frames()) == 1 })
	again := open(t, "a")
	again.reaches(b)
	a.SetNodes(nil)
	a.connected("")
	if b.left.Load() != 1 {
		t.Errorf("the end was told %d times, want once", b.left.Load())
	}
	if !b.Send(a.Self(), reply(packet(1, ""), "new")) {
		t.Error("not sent")
	}
	watchtest.Until(t, "the new process has the place", func() bool { return len(again.frames()) == 1 })
	if len(a.frames()) != 0 {
		t.Errorf("the old process has got %+v", a.frames())
	}
}

// TestQuestions: a refusal has its reason, a question that is given up ends at both ends, and only so many
// are answered at once.
func TestQuestions(t *testing.T) {
	t.Parallel()
	hold, asked, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
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
			case "wait":
				close(asked)
				<-ctx.Done()
				close(over)
				return nil, ctx.Err()
			}
			<-hold
			return make([]byte, MaxData), nil
		}
	})
	a.reaches(b)
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
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := a.Ask(ctx, "b", "wait", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a question that was given up: got %v, want context.Canceled", err)
	}
	<-over
	var answers sync.WaitGroup
	var refused, answered atomic.Int64
	for range 3 * maxQuestions {
		answers.Go(func() {
			got, err := a.Ask(t.Context(), "b", "hold", make([]byte, MaxData))
			var no *RefusedError
			switch {
			case errors.As(err, &no):
				refused.Add(1)
			case err == nil && len(got) == MaxData:
				answered.Add(1)
			default:
				t.Error(len(got), err)
			}
		})
	}
	watchtest.Until(t, "the rest is refused", func() bool { return refused.Load() == 2*maxQuestions })
	close(hold)
	answers.Wait()
	if got := answered.Load(); got != maxQuestions {
		t.Errorf("got %d answers, want %d", got, maxQuestions)
	}
}

// TestEvents: events go to every subscriber, also after the connection was lost: then the publisher is
// told to publish all again.
func TestEvents(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	a, c := open(t, "a"), open(t, "c")
	b := open(t, "b", func(o *Options) {
		o.Subscribed = func(name string) {
			if told.Add(1); name != "main &c" {
				t.Errorf("somebody wants %s", name)
			}
		}
	})
	a.Subscribe("main &c", true)
	for _, s := range []*station{a, b, c} {
		s.knows(a, b, c)
	}
	watchtest.Until(t, "b knows what a wants", func() bool { return b.Wanted("main &c") && len(c.Connected()) == 2 })
	if b.Wanted("other") {
		t.Error("nobody wants these")
	}
	b.Publish("main &c", 5, []byte("five"))
	b.Publish("other", 5, []byte("other"))
	received := func() []string {
		a.mu.Lock()
		defer a.mu.Unlock()
		return slices.Clone(a.events)
	}
	watchtest.Until(t, "it arrives", func() bool { return len(received()) == 1 })
	if got := received()[0]; got != "main &c five" {
		t.Errorf("got %q", got)
	}
	before := told.Load()
	(*a.nodes.Load())[Number("b")].link.Load().cancel()
	watchtest.Until(t, "a is back and wants it still",
		func() bool { return len(a.Connected()) == 2 && b.Wanted("main &c") && told.Load() > before })
	a.Subscribe("main &c", false)
	watchtest.Until(t, "nobody wants it", func() bool { return !b.Wanted("main &c") })
	if len(c.events) != 0 {
		t.Errorf("c has received %q, which it did not want", c.events)
	}
}

// TestEventsWait: of the events of an ID that wait for a node the newest is kept, and there are so many
// IDs at most.
func TestEventsWait(t *testing.T) {
	t.Parallel()
	s := newSubscription("main")
	for i := range 10 * maxEvents {
		if !s.add(uint64(i%10), binary.BigEndian.AppendUint32(nil, uint32(i))) {
			t.Fatal("there is no room")
		}
	}
	if len(s.events) != 10 {
		t.Errorf("%d events wait, want one for each of 10", len(s.events))
	}
	for _, e := range s.events {
		if got := binary.BigEndian.Uint32(e.data); got < 10*maxEvents-10 {
			t.Errorf("event %d of %d waits, which is not the newest", got, e.id)
		}
	}
	for i := range maxEvents {
		if room := s.add(uint64(i), nil); !room {
			t.Fatalf("there is no room for %d IDs", i+1)
		}
	}
	if s.add(maxEvents, nil) {
		t.Error("more events wait than may")
	}
	var got int
	s.Close()
	if err := readEvents(s, func([]byte) { got++ }); err != io.EOF || got != 0 {
		t.Errorf("after the end: got %d events, %v", got, err)
	}
}

// TestNeverReads: for a node that does not read no sender waits. Its datagrams are dropped, which takes no
// room of WebSocket connections; a packet of such a connection for which there is no room is refused, its
// end is not; and a node for which too much waits loses its connection.
func TestNeverReads(t *testing.T) {
	t.Parallel()
	o := newOutbox()
	fill := func(f *Frame) error {
		for n := 0; ; n += len(f.Data) + 1 {
			if err := o.add(f); err != nil || n > roomAll {
				return err
			}
		}
	}
	large := strings.Repeat("x", 1000)
	if err := fill(packet(0, large)); err != errLost {
		t.Errorf("datagrams: got %v, want errLost", err)
	}
	if len(o.datagrams) > roomDatagrams {
		t.Errorf("%d bytes of datagrams wait, more than %d", len(o.datagrams), roomDatagrams)
	}
	if err := o.add(packet(7, large)); err != nil {
		t.Errorf("a connection has no room beside datagrams: %v", err)
	}
	if err := fill(packet(7, large)); err != errLost {
		t.Errorf("packets of connections: got %v, want errLost", err)
	}
	end := packet(7, "")
	end.Kind, end.Data = KindEnded, nil
	if err := o.add(end); err != nil {
		t.Errorf("the end of a connection: %v", err)
	}
	var first Frame
	b := make([]byte, readBuffer)
	if n, _ := o.Read(b); n > 0 {
		first.next(b[:n])
	}
	if first.Client.Route != 7 {
		t.Errorf("%+v is read first, want a packet of the connection", first)
	}
	if err := fill(end); err != errSlowReader {
		t.Errorf("ends of connections: got %v, want errSlowReader", err)
	}
	if err := fill(&Frame{Kind: KindEnded, Name: make([]byte, MaxName+1)}); err == nil {
		t.Error("a frame that is none was queued")
	}
	o.Close()
	if err := o.add(end); err != io.ErrClosedPipe {
		t.Errorf("after the end: got %v, want io.ErrClosedPipe", err)
	}
}

// TestLostReply: if there is no room for a reply to a WebSocket connection, its node is told to end that
// connection, and others go on. If there is no room for that either, the exchange ends.
func TestLostReply(t *testing.T) {
	t.Parallel()
	m := open(t, "m")
	m.mu.Lock()
	n := m.Mesh.node("slow")
	m.mu.Unlock()
	e := &exchange{outbox: newOutbox()}
	n.caller.Store(e)
	large := reply(packet(7, ""), strings.Repeat("x", 1000))
	for m.Send(n.number, large) {
	}
	var last Frame
	for rest, size := e.streams, 0; len(rest) > 0; rest = rest[size:] {
		var err error
		if size, err = last.next(rest); err != nil {
			t.Fatal(err)
		}
	}
	if last.Kind != KindHangUp || last.Client.Route != 7 || string(last.Name) != "main" {
		t.Errorf("got %+v, want the end of connection 7", last)
	}
	if !m.Send(n.number, reply(packet(0, ""), "datagram")) {
		t.Error("a datagram is lost, too")
	}
	for i := 0; !e.ended; i++ {
		if m.Send(n.number, large) || i > roomAll {
			t.Fatal("ends of connections wait without a bound")
		}
	}
}

// TestBurst: while a burst of datagrams is sent, packets of a WebSocket connection arrive, all and in
// order, in both directions.
func TestBurst(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b")
	a.reaches(b)
	const packets, datagrams = 500, 100
	large := strings.Repeat("x", 1000)
	var both sync.WaitGroup
	for from, to := range map[*station]*station{a: b, b: a} {
		both.Go(func() {
			frame := func(route uint32, text string) *Frame {
				if from == b {
					return reply(packet(route, ""), text)
				}
				return packet(route, text)
			}
			for i := range packets {
				for range datagrams {
					from.Send(to.Self(), frame(0, large))
				}
				if !from.Send(to.Self(), frame(uint32(i+1), large)) {
					t.Error("a packet of a connection is lost")
				}
			}
		})
	}
	both.Wait()
	for _, s := range []*station{a, b} {
		watchtest.Until(t, "all packets of connections arrive at "+s.name, func() bool {
			next := uint32(1)
			for _, f := range s.frames() {
				if f.Client.Stream() {
					if f.Client.Route != next {
						t.Fatalf("got packet %d, want %d", f.Client.Route, next)
					}
					next++
				}
			}
			return next == packets+1
		})
	}
	if a.lost.Load() != 0 || b.left.Load() != 0 {
		t.Error("the connection has ended")
	}
}

// pause is a TCP proxy that can stop to pass bytes on, without closing.
type pause struct {
	net.Listener
	stopped atomic.Bool
}

func newPause(t *testing.T, to string) *pause {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pause{Listener: l}
	over := make(chan struct{})
	t.Cleanup(func() { close(over); l.Close() })
	pass := func(from, to net.Conn) {
		defer to.Close()
		b := make([]byte, 4096)
		for {
			n, err := from.Read(b)
			if p.stopped.Load() {
				<-over
			}
			if err != nil {
				return
			}
			to.Write(b[:n])
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				return
			}
			go pass(near, far)
			go pass(far, near)
		}
	}()
	return p
}

// TestSilent: both ends give up a connection on which nothing comes any more, and keep one on which
// nothing is sent.
func TestSilent(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.timing.silence = 2 * time.Second }
	a, b := open(t, "a", quick), open(t, "b", quick)
	c := open(t, "c")
	p := newPause(t, b.Addr().String())
	b.SetNodes([]Node{a.silent()})
	c.SetNodes([]Node{a.silent()})
	a.SetNodes([]Node{{"b", p.Addr().String(), b.Key()}, c.node()})
	a.connected("b c")
	first := (*a.nodes.Load())[Number("c")].link.Load()
	p.stopped.Store(true)
	watchtest.Until(t, "both have given up the connection",
		func() bool { return a.lost.Load() == 1 && b.left.Load() == 1 })
	if (*a.nodes.Load())[Number("c")].link.Load() != first {
		t.Error("the connection to a node that has nothing to say was given up")
	}
}

// TestUnproven: connections without a proof are bounded and end by themselves, and those of one host do
// not keep another one out. Nonsense is answered with nothing of use.
func TestUnproven(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a", func(o *Options) { o.timing.handshake = 5 * time.Second }), open(t, "b")
	a.SetNodes([]Node{b.silent()})
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
	for i, nc := range silent { // all have ended, by themselves
		if i%2 == 0 {
			nc.Write([]byte("no TLS, and no node\r\n\r\n"))
		}
		nc.SetReadDeadline(time.Now().Add(watchtest.Patience))
		if got, err := io.ReadAll(nc); len(got) > 64 || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a connection without a proof is still open: %q, %v", got, err)
		}
	}
	watchtest.Until(t, "all were refused", func() bool { return a.Stats().Refused == 3*maxUnproven })
	b.connected("a")
}

// TestUnprovenHosts: if all places are taken, the host that has most gives up its oldest one.
func TestUnprovenHosts(t *testing.T) {
	t.Parallel()
	u := unproven{conns: map[net.Conn]*unprovenConn{}}
	at := func(host byte) *conn {
		return &conn{from: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), 1))}
	}
	node := at(1)
	u.changed(node, http.StateNew)
	var crowd []*conn
	for range 2 * maxUnproven {
		c := at(2)
		crowd = append(crowd, c)
		u.changed(c, http.StateNew)
	}
	for i, c := range crowd {
		if want := i <= maxUnproven; c.closed != want {
			t.Errorf("connection %d of the host with most: closed %v, want %v", i, c.closed, want)
		}
	}
	if node.closed || len(u.conns) != maxUnproven {
		t.Errorf("%d connections, that of another host closed: %v", len(u.conns), node.closed)
	}
}

// TestManyFrames: frames arrive in order, however they are divided into reads.
func TestManyFrames(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b")
	a.reaches(b)
	const n = 5000
	for i := range n {
		f := packet(uint32(i+1), strings.Repeat("x", i%500)) // of a connection: none is lost
		if !a.Send(Number("b"), f) {
			t.Fatal("not sent")
		}
	}
	watchtest.Until(t, "all arrive", func() bool { return len(b.frames()) == n })
	for i, f := range b.frames() {
		if f.Client.Route != uint32(i+1) || len(f.Data) != i%500 {
			t.Fatalf("frame %d: got %d with %d bytes", i, f.Client.Route, len(f.Data))
		}
	}
}

// TestWrongDirection: a node cannot send replies to clients that it does not serve.
func TestWrongDirection(t *testing.T) {
	t.Parallel()
	a, b := open(t, "a"), open(t, "b")
	a.reaches(b)
	l := (*a.nodes.Load())[b.Self()].link.Load()
	l.add(reply(packet(7, ""), "forged"))
	l.add(packet(7, "packet"))
	watchtest.Until(t, "the packet arrives", func() bool { return len(b.frames()) > 0 })
	if got := b.frames()[0]; got.Kind != KindPacket || len(b.frames()) != 1 {
		t.Errorf("got %+v", got)
	}
}

// benchmark returns two connected nodes; what y sends to x is passed to receive.
func benchmark(b *testing.B, receive func(x *Mesh, frames []Frame), replies func([]Frame)) (x, y *Mesh) {
	b.Helper()
	both := map[string]*Mesh{}
	for _, name := range []string{"x", "y"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		m, err := Open(l, Options{Name: name, Receive: func(_ uint32, frames []Frame) {
			if name == "x" {
				receive(both["x"], frames)
			} else {
				replies(frames)
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { m.Close() })
		both[name] = m
	}
	x, y = both["x"], both["y"]
	y.SetNodes([]Node{{"x", x.Addr().String(), x.Key()}})
	x.SetNodes([]Node{{"y", "", y.Key()}})
	for len(y.Connected()) == 0 {
		time.Sleep(time.Millisecond)
	}
	return x, y
}

// BenchmarkRelay: packets as fast as they go.
func BenchmarkRelay(b *testing.B) {
	var got atomic.Int64
	x, y := benchmark(b, func(_ *Mesh, frames []Frame) { got.Add(int64(len(frames))) }, nil)
	f := packet(0, strings.Repeat("x", 60))
	b.ReportAllocs()
	for b.Loop() {
		for !y.Send(x.Self(), f) {
			time.Sleep(10 * time.Microsecond)
		}
	}
	for got.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
}

// BenchmarkEcho: a packet and its reply, one after the other.
func BenchmarkEcho(b *testing.B) {
	back := make(chan struct{}, 1)
	x, y := benchmark(b, func(x *Mesh, frames []Frame) {
		for i := range frames {
			x.Send(frames[i].Client.Node, reply(&frames[i], "reply"))
		}
	}, func([]Frame) { back <- struct{}{} })
	f := packet(0, strings.Repeat("x", 60))
	b.ReportAllocs()
	for b.Loop() {
		y.Send(x.Self(), f)
		<-back
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
	gone := Node{"gone", l.Addr().String(), "key"}
	l.Close()
	log := &watchtest.Log{}
	s := open(t, "a", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	s.SetNodes([]Node{gone})
	watchtest.Until(t, "it is said", func() bool {
		return strings.Contains(log.String(),
			"a node does not answer; if it lives, its players are served only at its own address")
	})
}

// conn is a connection that is only closed.
type conn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *conn) RemoteAddr() net.Addr { return c.from }
func (c *conn) Close() error         { c.closed = true; return nil }
