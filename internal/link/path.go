package link

import (
	"time"

	"wamble"
	"wamble/internal/share"
	"wamble/wire"
)

// path is one session at one remote address. An address from which several tokens are
// received has a path for each, and one for requests without a token: a sender who forges
// a client's address without its token reaches neither the client's window nor its queue.
type path struct {
	peer    wamble.Peer
	serial  uint64 // unique in the life of the server; 0 once it is removed
	sess    *session
	beside  *path  // the next path at this address
	out     uint32 // sequence number of the next reliable packet to it
	rtt     rtt
	queue   []pending // packets without ACK, in the order they were sent
	bundles []bundle  // answers in fragments
	proof   proof
	acks    bool          // its client has acknowledged a packet
	held    bool          // new packets are withheld: their request gets no ACK now
	seen    time.Duration // time of the last valid packet
	timer   timer
	host    *host
	links   [2]link // in the lists of table and host
}

// owns reports whether a token belongs to the path's session.
func (p *path) owns(token wamble.Token) bool {
	return !token.IsZero() && (token == p.sess.token || token == p.sess.granted || token == p.proof.vouched)
}

// takes reports whether a packet belongs to the path. A packet with another token does so only as a
// copy of a request that the session has executed: a login may have changed the token since. A
// packet without a token belongs to a path where no hello arrived; only a copy of the
// hello that began a session belongs to that session, until a client has used the session's
// token.
func (p *path) takes(in *incoming) bool {
	sess := p.sess
	switch {
	case !in.Token.IsZero():
		return p.owns(in.Token) || !in.Flags.Unreliable() && sess.history.has(in.print)
	case !sess.win.used && sess.token.IsZero() && sess.granted.IsZero():
		return true
	}
	return !sess.claimed && in.Ctrl == wire.CtrlClientHello && !in.Flags.Unreliable() && sess.history.has(in.print)
}

// lastSeq is the highest sequence number; after it the counter of a path starts again at
// 1.
const lastSeq = 1<<32 - 1001

// nextSeq returns the next sequence number.
func (p *path) nextSeq() uint32 {
	seq := p.out
	if p.out++; p.out > lastSeq {
		p.out = 1
	}
	return seq
}

// host has the paths of one IP address (one /56 of IPv6).
type host struct {
	lists        [sources]list // by source; the longest silent path first
	rank         share.Rank[host]
	unprovenRank share.Rank[host] // ranks hosts by unproven paths
}

// idlest returns the proven path of h to evict first, nil if there is none.
func (h *host) idlest() *path {
	if path := h.lists[proven].first; path != nil {
		return path
	}
	return h.lists[stream].first
}

// hostKey returns the key of limits per host: the IPv4 address, or the /56 of an IPv6 address,
// which belongs to one subscriber.
func hostKey(p wamble.Peer) hostID { return prefix(p, 32, 56) }

// networkKey returns the key of the budget of exempt replies: the /24, or the /48 of IPv6.
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

// link is a path's place in a list; the list's number selects one of the path's two
// links.
type link struct{ prev, next *path }

const (
	byAge  = 0
	byHost = 1
)

// list is a queue of paths; first has been silent longest.
type list struct{ first, last *path }

func (l *list) push(path *path, by int) {
	path.links[by] = link{prev: l.last}
	if l.last == nil {
		l.first = path
	} else {
		l.last.links[by].next = path
	}
	l.last = path
}

func (l *list) remove(path *path, by int) {
	k := path.links[by]
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
	path.links[by] = link{}
}

func (l *list) moveToBack(path *path, by int) {
	if l.last != path {
		l.remove(path, by)
		l.push(path, by)
	}
}
