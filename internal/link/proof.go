package link

import (
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// proof says whether the owner of an address really sends from it. A sender who forges an
// address does not see the packets sent to it, so a token that was sent to the address, and
// comes back from it, proves it.
type proof struct {
	proven bool
	// vouched is a token that is known to be valid and was sent to this address, or belongs to
	// its session at a proven address. Only this token proves the address, because a request
	// may contain any token.
	vouched wamble.Token
	// credit is how many more bytes may be sent to an unproven address.
	credit int
}

// covers reports whether a token shows that its sender is at the proven address.
func (p *proof) covers(token wamble.Token) bool { return p.proven && p.vouched == token }

// The number of bytes that may be sent for each received byte.
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

// exemption allows one reply over the credit, of at most left bytes. The zero value allows
// none.
type exemption struct{ left int }

// exemptionOf returns the exemption of a request of size bytes from e. A player with a new
// address after a NAT change gets their answer there: their token is known to be valid.
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

// flow is a token bucket of bytes that counts the used ones. The zero value is a full bucket.
type flow struct {
	used int
	at   time.Duration
}

// room returns how many bytes may be sent now, at rate bytes per second with a burst of four
// seconds.
func (f *flow) room(now time.Duration, rate int) int {
	const burst = 4
	elapsed := min(now-f.at, burst*time.Second)
	f.used = max(0, f.used-int(int64(rate)*int64(elapsed)/int64(time.Second)))
	f.at = now
	return rate*burst - f.used
}

// allow reports whether size bytes may be sent to e now, and charges them.
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

// received adds the credit for a valid packet of size bytes.
func (e *endpoint) received(size int) {
	if !e.proof.proven {
		e.proof.credit += creditFactor * size
	}
}

// prove makes e proven, if the table has room for one more.
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

// remembered is a proof that is kept after its endpoint is gone.
type remembered struct {
	at      time.Duration
	vouched wamble.Token
}

// remember stores the proof of e, as of at.
func (s *Server) remember(at time.Duration, e *endpoint) {
	*s.proofs.Use(e.peer) = remembered{at, e.proof.vouched}
}

// recall proves e if its address has proven itself with this token within proofTime, as when a
// player has thought for ten minutes.
func (s *Server) recall(now time.Duration, e *endpoint, token wamble.Token) {
	if p := s.proofs.Find(e.peer); p != nil && p.vouched == token && now-p.at < proofTime && !e.proof.proven {
		e.proof.vouched = p.vouched
		s.prove(now, e)
	}
}

// vouches reports whether packets of control code c carry a token that the handler has checked
// or created.
func vouches(c wire.Control) bool {
	return c == wire.CtrlServerHello || c == wire.CtrlLoginSuccess
}
