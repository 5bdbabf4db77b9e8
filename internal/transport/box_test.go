package transport

import (
	"fmt"
	"net"
	"testing"

	"wamble/wire"
)

// A loop over packets of connections allocates nothing once it is warm.
func TestAllocsInbox(t *testing.T) {
	in := newInbox(func() {})
	from := &source{}
	data := packet(t, 1, 100)
	buffers := make([][]byte, 32)
	packets := make([]Packet, 0, 32)
	round := func() {
		for range 32 {
			in.put(from, data)
		}
		packets, _ = in.fetch(packets[:0], nil, buffers)
	}
	for range (inboxPackets + inboxRemote) / 32 {
		round()
	}
	if got := testing.AllocsPerRun(100, round); got != 0 || len(packets) != 32 {
		t.Errorf("%v allocations for %d packets, want 0 for 32", got, len(packets))
	}
}

func TestOutbox(t *testing.T) {
	o := newOutbox()
	var l outboxBatch
	small, big := packet(t, 1, 1), packet(t, 2, wire.MaxPayload)
	for _, p := range [][]byte{small, big, big, big, big, small} {
		if o.add(p) != nil {
			t.Fatal("no room")
		}
	}
	o.take(&l)
	var sizes []int
	for len(l.sizes) > 0 {
		sizes = append(sizes, len(l.packet()))
	}
	want := fmt.Sprint([]int{35, 1234, 1234, 1234, 1234, 35})
	if got := fmt.Sprint(sizes); got != want {
		t.Errorf("packets of %s bytes, want %s", got, want)
	}
	n := 0
	for o.add(big) == nil {
		n++
	}
	if want := outboxBytes / len(big); n != want {
		t.Errorf("%d packets fit, want %d", n, want)
	}
	o.take(&l)
	if o.add(small) != nil {
		t.Error("no room after take")
	}
	o.end(CloseGoingAway, "first")
	o.end(CloseNormal, "second")
	if o.add(small) != net.ErrClosed {
		t.Error("a packet was added after the end")
	}
	o.take(&l)
	if !l.ending || l.code != CloseGoingAway || len(l.sizes) != 1 {
		t.Errorf("%+v: the first end counts, after the packets", l)
	}
}
