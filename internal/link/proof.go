package link

import (
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/internal/tokenbucket"
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

// exemption allows one reply that is at most remaining bytes over the credit. The zero value and nil allow
// none.
type exemption struct{ remaining int }

func (x *exemption) allows(size, credit int) bool {
	return size <= credit || x != nil && x.remaining > 0 && size <= x.remaining+credit
}

// exemptionOf returns the exemption of a request of size bytes from a path. A player with a new
// address after a NAT change gets their answer there: their token is known to be valid.
func (p *path) exemptionOf(h *wire.Header, size int) exemption {
	switch {
	case exempt(h.Ctrl):
		return exemption{exemptFactor * size}
	case !h.Token.IsZero() && h.Token == p.proof.vouched:
		return exemption{wire.MaxPacket}
	}
	return exemption{}
}

// budgets bound the bytes of exempt replies.
type budgets struct {
	listener tokenbucket.Bucket
	networks *lru.Table[hostID, tokenbucket.Bucket]
}

// perSecond bounds bytes per second, with a burst of four seconds.
func perSecond(bytes int) tokenbucket.Limit {
	return tokenbucket.Limit{Rate: bytes, Per: time.Second, Burst: 4 * bytes}
}

// allow reports whether size bytes may be sent to a path now, and charges them.
func (e *Endpoint) allow(now time.Duration, path *path, size int, right *exemption) bool {
	if e.table.proven(path) {
		return true
	}
	if size <= path.proof.credit {
		path.proof.credit -= size
		return true
	}
	if !right.allows(size, path.proof.credit) {
		return false
	}
	network, ofNetwork := e.budgets.networks.Use(networkKey(path.peer)), perSecond(e.cfg.NetworkBudget)
	if !network.Has(now, size, ofNetwork) || !e.budgets.listener.Take(now, size, perSecond(e.cfg.ListenerBudget)) {
		e.stats.BudgetSpent++
		return false
	}
	network.Spend(now, size, ofNetwork)
	path.proof.credit -= max(0, size-right.remaining)
	right.remaining = 0
	return true
}

// canAnswer reports whether an ACK and a reply of size bytes can be sent to path now; size 0 is no reply.
func (e *Endpoint) canAnswer(now time.Duration, path *path, size int, right exemption) bool {
	credit := path.proof.credit - wire.HeaderSize
	switch {
	case e.table.proven(path) || size == 0 || size <= credit:
		return true
	case credit < 0 || !right.allows(size, credit):
		return false
	}
	network := e.budgets.networks.Use(networkKey(path.peer))
	return network.Has(now, size, perSecond(e.cfg.NetworkBudget)) &&
		e.budgets.listener.Has(now, size, perSecond(e.cfg.ListenerBudget))
}

// firstSize returns the size of the first reliable packet, 0 if there is none.
func firstSize(packets []*packet) int {
	for _, k := range packets {
		if !k.flags().Unreliable() {
			return len(k.buf)
		}
	}
	return 0
}

// received adds the credit for a valid packet of size bytes.
func (p *path) received(size int) {
	if !p.proof.proven {
		p.proof.credit += creditFactor * size
	}
}

// prove makes a path proven, if the table has room for one more.
func (e *Endpoint) prove(now time.Duration, path *path) {
	if !e.admit(now, path.host) {
		return
	}
	e.table.delist(path)
	path.proof.proven = true
	e.table.enlist(path)
	e.remember(now, path)
	e.stats.Proven++
}

// remembered is a proof that is kept after its path is gone.
type remembered struct {
	at      time.Duration
	vouched wamble.Token
}

// remember stores the proof of a path, as of at.
func (e *Endpoint) remember(at time.Duration, path *path) {
	*e.proofs.Use(path.peer) = remembered{at, path.proof.vouched}
}

// recall proves a path if its address has proven itself with this token within proofTime, as when a
// player has thought for ten minutes.
func (e *Endpoint) recall(now time.Duration, path *path, token wamble.Token) {
	if e.remembers(now, path.peer, token) && !path.proof.proven {
		path.proof.vouched = token
		e.prove(now, path)
	}
}

// remembers reports whether an address has proven itself with a token within proofTime.
func (e *Endpoint) remembers(now time.Duration, from wamble.Peer, token wamble.Token) bool {
	p := e.proofs.Find(from)
	return p != nil && p.vouched == token && now-p.at < proofTime
}

// vouches reports whether packets of control code c carry a token that the handler has checked
// or created.
func vouches(c wire.Control) bool {
	return c == wire.CtrlServerHello || c == wire.CtrlLoginSuccess
}
