package link

import "wamble/wire"

// fingerprint names a request. Its number alone does not: copies of a request
// are identical byte for byte, and another request under a number that was seen
// comes from a client that began to count anew, as when a program is started
// twice in a second.
type fingerprint struct{ seq, hash uint32 }

// printOf returns the fingerprint of the packet that b begins with, whose number
// is seq. Its hash is never 0.
func printOf(seq uint32, b []byte) fingerprint {
	size, _ := wire.Size(b)
	x := hashOf(b[:size])
	return fingerprint{seq, uint32(x>>32) ^ uint32(x) | 1}
}

// history remembers the latest requests of a session.
type history struct {
	ring [32]fingerprint
	next uint8
}

func (h *history) add(p fingerprint) {
	h.ring[h.next] = p
	h.next = (h.next + 1) % uint8(len(h.ring))
}

// has reports whether a request is remembered.
func (h *history) has(p fingerprint) bool {
	for i := range h.ring {
		if h.ring[i] == p {
			return true
		}
	}
	return false
}

// other reports whether only other requests with the number of p are remembered.
func (h *history) other(p fingerprint) bool {
	other := false
	for _, q := range h.ring {
		if q == p {
			return false
		}
		other = other || q.hash != 0 && q.seq == p.seq
	}
	return other
}
