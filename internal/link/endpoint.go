package link

import (
	"time"

	"wamble"
	"wamble/internal/share"
	"wamble/wire"
)

// endpoint is one session at one remote address. An address that is heard with
// several tokens has one for each, and one for requests without a token: whoever
// forges the address of a client, but does not know its token, meets neither its
// window nor its queue.
type endpoint struct {
	peer    wamble.Peer
	serial  uint64 // unique in the life of the server; 0 once it is removed
	sess    *session
	beside  *endpoint // the next one at this address
	out     uint32    // sequence number of the next reliable packet to it
	rtt     rtt
	queue   []pending // packets without ACK, in the order they were sent
	bundles []bundle  // answers in fragments; only the first is on its way
	proof   proof
	seen    time.Duration // when the last valid packet came
	timer   timer
	host    *host
	links   [2]link // in the lists of table and host
}

// owns reports whether a token is that of e's session.
func (e *endpoint) owns(token wamble.Token) bool {
	return !token.IsZero() && (token == e.sess.token || token == e.sess.granted || token == e.proof.vouched)
}

// takes reports whether a packet belongs to e. One with another token does so only
// as a copy of a request that the session has executed: a login may have changed the
// token since. One without a token belongs where no hello came from; only a copy of
// the hello that began a session, until the session's token was shown, belongs to
// that session.
func (e *endpoint) takes(in *incoming) bool {
	sess := e.sess
	switch {
	case !in.Token.IsZero():
		return e.owns(in.Token) || !in.Flags.Unreliable() && sess.history.has(in.print)
	case !sess.win.used && sess.token.IsZero() && sess.granted.IsZero():
		return true
	}
	return !sess.claimed && in.Ctrl == wire.CtrlClientHello && !in.Flags.Unreliable() && sess.history.has(in.print)
}

// lastSeq is where the counter of an endpoint starts anew at 1.
const lastSeq = 1<<32 - 1001

// nextSeq takes a sequence number.
func (e *endpoint) nextSeq() uint32 {
	seq := e.out
	if e.out++; e.out > lastSeq {
		e.out = 1
	}
	return seq
}

// host is the endpoints of one IP address.
type host struct {
	lists [sources]list // silent longest first
	rank  share.Rank[host]
	crowd share.Rank[host] // by unproven endpoints
}

// idlest returns the proven endpoint that makes room first, nil without one.
func (h *host) idlest() *endpoint {
	if e := h.lists[proven].first; e != nil {
		return e
	}
	return h.lists[stream].first
}

// hostKey returns what limits per host go by: the IPv4 address, or the /56 of an
// IPv6 address, which one subscriber has all of.
func hostKey(p wamble.Peer) hostID { return prefix(p, 32, 56) }

// networkKey returns what the budget of exempt replies goes by.
func networkKey(p wamble.Peer) hostID { return prefix(p, 24, 48) }

// hostID is a prefix of an IP address, padded with zeros.
type hostID [17]byte

func prefix(p wamble.Peer, bits4, bits6 int) hostID {
	ip := p.IP()
	bits := bits6
	if ip.Is4() || ip.Is4In6() {
		bits = 96 + bits4
	}
	var id hostID
	a := ip.As16()
	copy(id[:bits/8], a[:])
	id[16] = byte(bits)
	return id
}

// A link is an endpoint's place in a list; which of its two links a list uses
// says the list's number.
type link struct{ prev, next *endpoint }

const (
	byAge  = 0
	byHost = 1
)

// list is a queue of endpoints: first is the one that was silent longest.
type list struct{ first, last *endpoint }

func (l *list) push(e *endpoint, by int) {
	e.links[by] = link{prev: l.last}
	if l.last == nil {
		l.first = e
	} else {
		l.last.links[by].next = e
	}
	l.last = e
}

func (l *list) remove(e *endpoint, by int) {
	k := e.links[by]
	if k.prev == nil {
		l.first = k.next
	} else {
		k.prev.links[by].next = k.next
	}
	if k.next == nil {
		l.last = k.prev
	} else {
		k.next.links[by].prev = k.prev
	}
	e.links[by] = link{}
}

func (l *list) moveToBack(e *endpoint, by int) {
	if l.last != e {
		l.remove(e, by)
		l.push(e, by)
	}
}
