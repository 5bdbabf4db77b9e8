package link

import "wamble/wire"

// fingerprint identifies a request. The number alone does not: copies of a request are
// identical byte for byte, but a client that restarts within a second may use a number again
// for another request.
type fingerprint struct{ seq, hash uint32 }

// printOf returns the fingerprint of the packet at the start of b, whose number is seq. Its
// hash is never 0.
func printOf(seq uint32, b []byte) fingerprint {
	size, _ := wire.Size(b)
	x := hashOf(b[:size])
	return fingerprint{seq, uint32(x>>32) ^ uint32(x) | 1}
}

// history has the last 32 requests of a session.
type history struct {
	ring [32]fingerprint
	next uint8
}

func (h *history) add(p fingerprint) {
	h.ring[h.next] = p
	h.next = (h.next + 1) % uint8(len(h.ring))
}

// has reports whether request p is remembered.
func (h *history) has(p fingerprint) bool {
	for i := range h.ring {
		if h.ring[i] == p {
			return true
		}
	}
	return false
}

// other reports whether requests with the number of p are remembered, but not p.
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
