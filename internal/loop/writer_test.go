package loop

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/transport"
	"wamble/runner"
	"wamble/runner/memstore"
)

// sender is a loop that only sends, and the socket it sends to.
type sender struct {
	*loop
	far  *net.UDPConn
	next uint32 // number of the next packet that is sent
}

func newSender(t *testing.T) *sender {
	t.Helper()
	port, err := transport.Listen(transport.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	rt := &Runtime{}
	rt.Attach(Journal{})
	s := &sender{loop: &loop{rt: rt, instance: &instance{}, port: port, writer: newWriter(), times: newStopwatch()},
		far: far}
	go s.writer.run()
	t.Cleanup(func() {
		s.flush()
		close(s.writer.full)
		port.Close()
		far.Close()
	})
	return s
}

// step sends n packets, as the output of one step.
func (s *sender) step(n int) error {
	out := &s.instance.out.Packets
	out.Reset()
	to := wamble.Peer{Addr: s.far.LocalAddr().(*net.UDPAddr).AddrPort()}
	for range n {
		out.Send(to, binary.BigEndian.AppendUint32(nil, s.next))
		s.next++
	}
	return s.send()
}

// TestWriterKeepsOrder: packets leave in the order in which they were decided,
// whether the loop sends them or its writer, and all have left after a flush.
func TestWriterKeepsOrder(t *testing.T) {
	s := newSender(t)
	seen := uint32(0)
	for range 50 {
		for _, n := range []int{fewPackets + 1, 1, 20, 0, fewPackets, 30, 2} {
			if err := s.step(n); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		if got, want := s.port.UDP().Stats().Sent, uint64(s.next); got != want {
			t.Fatalf("%d packets were sent, want %d", got, want)
		}
		s.far.SetReadDeadline(time.Now().Add(time.Minute))
		for b := make([]byte, 8); seen < s.next; seen++ {
			n, err := s.far.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := binary.BigEndian.Uint32(b[:n]); got != seen {
				t.Fatalf("packet %d came, want %d", got, seen)
			}
		}
	}
}

// TestWriterTimesAnswers: a move counts as sent when the parcel with its answer has left, not
// when it was passed to the writer.
func TestWriterTimesAnswers(t *testing.T) {
	s := newSender(t)
	began := time.Now()
	for durableIndex := range uint64(9) {
		s.times.step(began, durableIndex+1, 3*(durableIndex+1))
		s.times.durable(time.Now(), durableIndex+1)
		if err := s.step(20); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.flush(); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.times.toSent.Total(); got != 27 {
		t.Errorf("%d moves count as answered, want 27", got)
	}
	if got, most := s.times.toSent.Sum/27, time.Since(began).Seconds(); got <= 0 || got > most {
		t.Errorf("they took %v s on average, want more than 0 and at most %v", got, most)
	}
}

// TestWriterFails: a closed socket is an error of the loop, at the next send or flush, and
// nothing waits for ever.
func TestWriterFails(t *testing.T) {
	s := newSender(t)
	s.port.Close()
	if err := s.step(20); err != nil {
		t.Fatalf("handing over: %v", err)
	}
	if err := s.flush(); err == nil {
		t.Error("flush: no error")
	}
	for range 2 * maxParcels {
		if s.step(20) != nil {
			return
		}
	}
	t.Error("no send has failed")
}

// TestAllocsWriter: passing packets to the writer allocates nothing.
func TestAllocsWriter(t *testing.T) {
	s := newSender(t)
	out := &s.instance.out.Packets
	to := wamble.Peer{Addr: netip.MustParseAddrPort("127.0.0.1:9")}
	packet := make([]byte, 100)
	round := func() {
		out.Reset()
		for range 20 {
			out.Send(to, packet)
		}
		if err := s.send(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got > 0.1 {
		t.Errorf("got %v allocations for a parcel, want none", got)
	}
}

// TestSuccessorSendsByItself: the outputs of an adoption leave without the writer, so that
// the journal must not wait for it.
func TestSuccessorSendsByItself(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := config.Load("", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSender(t)
	s.rt.cfg.Store(c.Default)
	s.instance.commit = newGroupCommit(r, 1)
	to := wamble.Peer{Addr: s.far.LocalAddr().(*net.UDPAddr).AddrPort()}
	for range 3 * fewPackets {
		s.instance.out.Packets.Send(to, []byte("answer"))
	}
	if s.afterAdoption(); s.err != nil {
		t.Fatal(s.err)
	}
	if n := s.instance.commit.answers; n != 0 {
		t.Errorf("the journal waits for %d batches of answers", n)
	}
}
