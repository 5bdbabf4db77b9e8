package loop

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/transport"
)

// fakeSocket has batches of datagrams that Drain returns.
type fakeSocket struct{ batches [][]transport.Packet }

func (s *fakeSocket) Drain() ([]transport.Packet, bool, error) {
	batch := s.batches[0]
	s.batches = s.batches[1:]
	return batch, len(s.batches) > 0, nil
}

// byFirst classes a datagram by its first byte.
type byFirst struct{}

func (byFirst) Classify(_ wamble.Peer, b []byte) (link.Class, bool) {
	return map[byte]link.Class{'p': link.ClassPlayer, 'c': link.ClassProven, 'r': link.ClassRest}[b[0]], false
}

// datagrams returns datagrams with a text and a number each, of many hosts, which arrived some time ago.
func datagrams(text string, first, n int, ago time.Duration) (list []transport.Packet) {
	for i := first; i < first+n; i++ {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 9)
		list = append(list, transport.Packet{Peer: wamble.Peer{Addr: from}, Data: fmt.Appendf(nil, "%s%d", text, i),
			At: time.Now().Add(-ago).UnixNano()})
	}
	return list
}

// TestOrder: a full batch makes the loop take all that waits. Players are in the next step, wherever they stood, few
// of the rest, and the packets of connections; what waits too long is in no step.
func TestOrder(t *testing.T) {
	q := newIntake()
	stream := transport.Packet{Peer: wamble.Peer{Route: 7}, Data: []byte("stream")}
	socket := &fakeSocket{[][]transport.Packet{
		slices.Concat(datagrams("r", 128, 100, 0), datagrams("c", 1, 28, 0)),
		slices.Concat(datagrams("r", 1000, 40, time.Second), datagrams("p", 1, 3, time.Second)),
	}}
	in := transport.Arrivals{Packets: append(datagrams("r", 0, 128, 0), stream), Full: true}
	var got []string
	steps := 0
	for ; ; steps++ {
		out, err := q.order(byFirst{}, socket, in)
		if err != nil {
			t.Fatal(err)
		}
		in = transport.Arrivals{}
		if len(out.Packets) == 0 {
			break
		}
		for _, p := range out.Packets {
			got = append(got, string(p.Data))
		}
		if steps == 0 && (len(got) != 3+28+stepRest+1 || !q.hasWork()) {
			t.Errorf("the first step has %d packets", len(got))
		}
	}
	for i, want := range map[int]string{0: "p1", 1: "p2", 2: "p3", 3: "c1", 30: "c28", 31: "r227",
		31 + stepRest: "stream"} {
		if got[i] != want {
			t.Errorf("packet %d is %q, want %q", i, got[i], want)
		}
	}
	if len(got) != 3+28+228+1 || steps != (228+stepRest-1)/stepRest || q.hasWork() {
		t.Errorf("%d packets in %d steps", len(got), steps)
	}
	ages := q.figures()
	waited, _ := ages[link.ClassPlayer].Total()
	if shed := q.queue.Shed(); shed != [link.Classes]uint64{link.ClassRest: 40} || waited != 3 ||
		ages[link.ClassPlayer].Sum < 3 {
		t.Errorf("%v were dropped, %d players waited %v s", shed, waited, ages[link.ClassPlayer].Sum)
	}
}

// TestOrderWithoutClock: a datagram whose time makes no sense, as when the clock was set, counts as new.
func TestOrderWithoutClock(t *testing.T) {
	for _, at := range []int64{0, time.Now().Add(time.Hour).UnixNano(), time.Now().Add(-time.Hour).UnixNano()} {
		q := newIntake()
		in := transport.Arrivals{Packets: datagrams("r", 1, 1, 0)}
		in.Packets[0].At = at
		if out, _ := q.order(byFirst{}, nil, in); len(out.Packets) != 1 {
			t.Errorf("a datagram of %d is dropped", at)
		}
	}
}

// TestAllocsOrder: to order datagrams allocates nothing.
func TestAllocsOrder(t *testing.T) {
	q := newIntake()
	socket, more := &fakeSocket{}, [][]transport.Packet{datagrams("p", 1, 40, 0)}
	in := transport.Arrivals{Packets: datagrams("c", 1, 40, 0), Full: true}
	round := func() {
		socket.batches = more
		if out, _ := q.order(oneClass{}, socket, in); len(out.Packets) != 80 {
			t.Fatalf("%d packets", len(out.Packets))
		}
	}
	for range 200 {
		round()
	}
	if got := testing.AllocsPerRun(100, round); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// oneClass classes everything as of players.
type oneClass struct{}

func (oneClass) Classify(wamble.Peer, []byte) (link.Class, bool) { return link.ClassPlayer, false }
