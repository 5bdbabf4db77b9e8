package share

import (
	"encoding/binary"
	"net/netip"

	"wamble"
)

// Host identifies a host (see wamble.HostOf) in 8 bytes; 0 is unknown.
type Host uint64

// HostOf returns the host of an address.
func HostOf(ip netip.Addr) Host {
	host := wamble.HostOf(ip).Addr()
	switch {
	case host.Is4():
		a := host.As4()
		return Host(binary.BigEndian.Uint32(a[:])) // no IPv6 network begins with 32 zeros
	case host.Is6():
		a := host.As16()
		return Host(binary.BigEndian.Uint64(a[:]))
	}
	return 0
}

// Table is hosts and their holdings. The zero value is empty.
type Table[T any] struct {
	hosts map[Host]*host[T]
	ranks Ranks[host[T]]
	spare []*host[T]
	// empty is the host that has last lost all its holdings. It stays in hosts, because a player who moves
	// returns a board and gets another at once.
	empty *host[T]
}

// Holding is one thing that a host holds. It is a field of the thing, and zero while its host is unknown.
type Holding[T any] struct {
	item       *T
	host       *host[T]
	prev, next *Holding[T]
}

// host is one host; first is its idlest holding.
type host[T any] struct {
	key         Host
	rank        Rank[host[T]]
	first, last *Holding[T]
}

// Host returns the host of the holding, 0 if unknown.
func (h *Holding[T]) Host() Host {
	if h.host == nil {
		return 0
	}
	return h.host.key
}

// Add gives a holding to a host. With key 0 it only removes it from its present host.
func (t *Table[T]) Add(h *Holding[T], of *T, key Host) {
	t.Remove(h)
	if key == 0 {
		return
	}
	who := t.hosts[key]
	if who == nil {
		who = t.take()
		who.key = key
		t.hosts[key] = who
	}
	if who == t.empty {
		t.empty = nil
	}
	h.item = of
	who.push(h)
	t.ranks.Grow(&who.rank, who)
}

// take returns a host without holdings.
func (t *Table[T]) take() *host[T] {
	if t.hosts == nil {
		t.hosts = map[Host]*host[T]{}
	}
	if n := len(t.spare); n > 0 {
		who := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return who
	}
	return new(host[T])
}

// Touch makes a holding, and its host, the least idle.
func (t *Table[T]) Touch(h *Holding[T]) {
	if who := h.host; who != nil {
		t.ranks.Touch(&who.rank)
		if h.next != nil {
			who.drop(h)
			who.push(h)
		}
	}
}

// Remove removes a holding from its host, if it has one.
func (t *Table[T]) Remove(h *Holding[T]) {
	who := h.host
	if who == nil {
		return
	}
	who.drop(h)
	if t.ranks.Shrink(&who.rank, who); who.rank.N() == 0 {
		if old := t.empty; old != nil {
			delete(t.hosts, old.key)
			t.spare = append(t.spare, old)
		}
		t.empty = who
	}
}

// Count returns the number of a host's holdings.
func (t *Table[T]) Count(key Host) int {
	if who := t.hosts[key]; who != nil {
		return who.rank.N()
	}
	return 0
}

// Yield returns what must be given up so that a host can have one more: the idlest holding of the host that
// holds most, which may be that host itself. It returns nil if no host holds more than one.
func (t *Table[T]) Yield(key Host) *T {
	who := t.ranks.Most()
	if who == nil || who.rank.N() < 2 {
		return nil
	}
	if own := t.hosts[key]; own != nil && own.rank.N() == who.rank.N() {
		who = own
	}
	return who.first.item
}

func (w *host[T]) push(h *Holding[T]) {
	h.host, h.prev, h.next = w, w.last, nil
	if w.last == nil {
		w.first = h
	} else {
		w.last.next = h
	}
	w.last = h
}

func (w *host[T]) drop(h *Holding[T]) {
	if h.prev == nil {
		w.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		w.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.host, h.prev, h.next = nil, nil, nil
}
