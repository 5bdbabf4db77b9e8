package link

import (
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// proof is what is known about whether the owner of an address really sends
// from it. Whoever forges a source address sees none of our packets, so a token
// that we handed to the address, coming back from it, proves it.
type proof struct {
	proven bool
	// vouched is a token that is known to be real and was sent to this address,
	// or belongs to its session at a proven address. Any token may be in a
	// request; only this one proves the address.
	vouched wamble.Token
	// credit is how many more bytes an unproven address may be sent.
	credit int
}

// covers reports whether a token shows that its sender is at a proven address.
func (p *proof) covers(token wamble.Token) bool { return p.proven && p.vouched == token }

// Amplification: how many bytes may follow one received byte.
const (
	creditFactor = 3
	exemptFactor = 8
)

// exempt reports whether one reply to c may exceed the credit.
func exempt(c wire.Control) bool {
	switch c {
	case wire.CtrlClientHello, wire.CtrlListProfiles, wire.CtrlGetProfileInfo, wire.CtrlGetActiveReservations:
		return true
	}
	return false
}

// exemption is the right to one reply over the credit, of at most left bytes.
// The zero value is no right.
type exemption struct{ left int }

// exemptionOf returns the right of a request of size bytes from e. A player whose
// NAT gave him a new address is told there what he asked for: his token is known
// to be real.
func (e *endpoint) exemptionOf(h *wire.Header, size int) exemption {
	switch {
	case exempt(h.Ctrl):
		return exemption{exemptFactor * size}
	case !h.Token.IsZero() && h.Token == e.proof.vouched:
		return exemption{wire.MaxPacket}
	}
	return exemption{}
}

// budgets bound the bytes of exempt replies.
type budgets struct {
	listener flow
	networks *lru.Table[hostID, flow]
}

// flow is a token bucket of bytes that counts what was used. The zero value is
// full.
type flow struct {
	used int
	at   time.Duration
}

// room returns how many bytes may flow now, at rate bytes per second with a
// burst of four seconds.
func (f *flow) room(now time.Duration, rate int) int {
	const burst = 4
	elapsed := min(now-f.at, burst*time.Second)
	f.used = max(0, f.used-int(int64(rate)*int64(elapsed)/int64(time.Second)))
	f.at = now
	return rate*burst - f.used
}

// allow decides whether size bytes may go to e now, and books them.
func (s *Server) allow(now time.Duration, e *endpoint, size int, right *exemption) bool {
	if s.table.proven(e) {
		return true
	}
	if size <= e.proof.credit {
		e.proof.credit -= size
		return true
	}
	if right == nil || size > right.left {
		return false
	}
	network := s.budgets.networks.Use(networkKey(e.peer))
	if network.room(now, s.cfg.NetworkBudget) < size || s.budgets.listener.room(now, s.cfg.ListenerBudget) < size {
		s.stats.BudgetSpent++
		return false
	}
	network.used += size
	s.budgets.listener.used += size
	right.left = 0
	return true
}

// received credits e with the bytes of a valid packet.
func (e *endpoint) received(size int) {
	if !e.proof.proven {
		e.proof.credit += creditFactor * size
	}
}

// prove lifts the bounds of e, if there is a place for one more.
func (s *Server) prove(now time.Duration, e *endpoint) {
	if !s.admit(now, e.host) {
		return
	}
	s.table.delist(e)
	e.proof.proven = true
	s.table.enlist(e)
	s.remember(now, e)
	s.stats.Proven++
}

// remembered is a proof that outlives its endpoint.
type remembered struct {
	at      time.Duration
	vouched wamble.Token
}

// remember notes that e is proven, as of at.
func (s *Server) remember(at time.Duration, e *endpoint) {
	*s.proofs.Use(e.peer) = remembered{at, e.proof.vouched}
}

// recall proves e when its address proved itself with this token not long ago: a
// player who thinks for ten minutes is not a stranger.
func (s *Server) recall(now time.Duration, e *endpoint, token wamble.Token) {
	if p := s.proofs.Find(e.peer); p != nil && p.vouched == token && now-p.at < proofTime && !e.proof.proven {
		e.proof.vouched = p.vouched
		s.prove(now, e)
	}
}

// vouches reports whether a packet of control code c carries a token that the
// handler has checked or made.
func vouches(c wire.Control) bool {
	return c == wire.CtrlServerHello || c == wire.CtrlLoginSuccess
}
