package link

import (
	"time"

	"wamble"
	"wamble/internal/share"
)

// table holds the endpoints and sessions of a server, and the memory of former
// ones for reuse.
type table struct {
	endpoints map[wamble.Peer]*endpoint // the first of each address
	count     int                       // of endpoints
	hosts     map[hostID]*host
	byToken   map[wamble.Token]*session
	timers    timers
	ages      [sources]list // silent longest first
	unproven  int           // how many are in that list
	ranks     share.Ranks[host]
	crowds    share.Ranks[host] // by unproven endpoints
	serial    uint64
	sessions  int

	spareEndpoints []*endpoint
	spareSessions  []*session
	spareHosts     []*host
}

func newTable() table {
	return table{
		endpoints: map[wamble.Peer]*endpoint{},
		hosts:     map[hostID]*host{},
		byToken:   map[wamble.Token]*session{},
	}
}

// take returns a recycled value, or a new one.
func take[T any](spare *[]*T) *T {
	if n := len(*spare); n > 0 {
		v := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return v
	}
	return new(T)
}

// addSession returns a new session without an address.
func (t *table) addSession() *session {
	s := take(&t.spareSessions)
	*s = session{open: s.open[:0], kept: s.kept[:0], addrs: s.addrs[:0]}
	t.serial++
	t.sessions++
	s.serial = t.serial
	return s
}

// add enters an endpoint for peer, an address of sess.
func (t *table) add(now time.Duration, peer wamble.Peer, sess *session) *endpoint {
	e := take(&t.spareEndpoints)
	*e = endpoint{queue: e.queue[:0], bundles: e.bundles[:0]}
	t.serial++
	e.peer, e.serial, e.sess, e.seen, e.out = peer, t.serial, sess, now, 1
	e.proof.proven = peer.Stream()
	t.place(e)
	key := hostKey(peer)
	h := t.hosts[key]
	if h == nil {
		h = take(&t.spareHosts)
		*h = host{}
		t.hosts[key] = h
	}
	t.ranks.Grow(&h.rank, h)
	e.host = h
	t.enlist(e)
	sess.addrs = append(sess.addrs, e)
	if sess.home == nil {
		sess.home = e
	}
	return e
}

// place puts e among the endpoints of its address, in the order of their serials.
func (t *table) place(e *endpoint) {
	t.count++
	first := t.endpoints[e.peer]
	if first == nil || first.serial > e.serial {
		e.beside, t.endpoints[e.peer] = first, e
		return
	}
	for first.beside != nil && first.beside.serial < e.serial {
		first = first.beside
	}
	e.beside, first.beside = first.beside, e
}

// displace takes e out of the endpoints of its address.
func (t *table) displace(e *endpoint) {
	t.count--
	first := t.endpoints[e.peer]
	switch {
	case first != e:
		for first.beside != e {
			first = first.beside
		}
		first.beside = e.beside
	case e.beside != nil:
		t.endpoints[e.peer] = e.beside
	default:
		delete(t.endpoints, e.peer)
	}
	e.beside = nil
}

// proven reports whether the address of e has proven itself, to e or to another
// session.
func (t *table) proven(e *endpoint) bool {
	if e.proof.proven {
		return true
	}
	for a := t.endpoints[e.peer]; a != nil; a = a.beside {
		if a.proof.proven {
			return true
		}
	}
	return false
}

// rank is the list that e is in: unproven ones make room first. Streams are not idle
// when they are silent, as whoever watches is: their connection shows that they are
// there.
func (e *endpoint) rank() source {
	switch {
	case e.peer.Stream():
		return stream
	case e.proof.proven:
		return proven
	}
	return unproven
}

func (t *table) enlist(e *endpoint) {
	t.ages[e.rank()].push(e, byAge)
	e.host.lists[e.rank()].push(e, byHost)
	if !e.proof.proven {
		t.unproven++
		t.crowds.Grow(&e.host.crowd, e.host)
	}
}

func (t *table) delist(e *endpoint) {
	t.ages[e.rank()].remove(e, byAge)
	e.host.lists[e.rank()].remove(e, byHost)
	if !e.proof.proven {
		t.unproven--
		t.crowds.Shrink(&e.host.crowd, e.host)
	}
}

// touch notes that e was heard of. A second packet of the same batch changes
// nothing.
func (t *table) touch(now time.Duration, e *endpoint) {
	if e.seen == now {
		return
	}
	e.seen = now
	t.ages[e.rank()].moveToBack(e, byAge)
	e.host.lists[e.rank()].moveToBack(e, byHost)
	t.ranks.Touch(&e.host.rank)
}

// yields returns the proven endpoint that makes room for one more of host h in a table
// of size places that is full, nil if there is none. A host that has more than an
// eighth loses its idlest. Then whoever has been silent for a while goes: players who
// have left are many, and a household that plays is not to lose to them. If everybody
// is busy, the host that has most loses its idlest.
func (t *table) yields(now time.Duration, h *host, size int) *endpoint {
	most := t.ranks.Most()
	if h != nil && h.rank.N() == most.rank.N() {
		most = h
	}
	if n := most.rank.N(); n > 1 && n*8 > size {
		if e := most.idlest(); e != nil {
			return e
		}
	}
	if e := t.ages[proven].first; e != nil && now-e.seen >= idleProven {
		return e
	}
	if most.rank.N() < 2 {
		return nil
	}
	return most.idlest()
}

// outgrown returns the unproven endpoint that makes room for another: the idlest of
// the host that has most of them, or of all if nobody has more than one.
func (t *table) outgrown() *endpoint {
	if most := t.crowds.Most(); most.crowd.N() > 1 {
		return most.lists[unproven].first
	}
	return t.ages[unproven].first
}

// victim returns the endpoint of a host's lists that may make room, or nil: an
// unproven one, else a proven one that has been silent for a while.
func victim(now time.Duration, lists *[sources]list) *endpoint {
	if e := lists[unproven].first; e != nil {
		return e
	}
	if e := lists[proven].first; e != nil && now-e.seen >= idleProven {
		return e
	}
	return nil
}

// remove takes e out of every index. It must have left its session, and its
// packets must have been dropped.
func (t *table) remove(e *endpoint) {
	t.delist(e)
	t.timers.remove(e)
	t.displace(e)
	if t.ranks.Shrink(&e.host.rank, e.host); e.host.rank.N() == 0 {
		delete(t.hosts, hostKey(e.peer))
		t.spareHosts = append(t.spareHosts, e.host)
	}
	e.serial, e.sess, e.host = 0, nil, nil
	if cap(e.queue) > maxWithheld {
		e.queue = nil // spare ones are many, and should be small
	}
	t.spareEndpoints = append(t.spareEndpoints, e)
}

// latest returns the address heard of last, or nil when there is none.
func latest(addrs []*endpoint) *endpoint {
	var best *endpoint
	for _, a := range addrs {
		if best == nil || a.seen >= best.seen {
			best = a
		}
	}
	return best
}

// removeSession takes a session without addresses out of every index. Its kept
// answers must have been dropped.
func (t *table) removeSession(s *session) {
	t.unchain(s)
	s.serial = 0
	t.sessions--
	t.spareSessions = append(t.spareSessions, s)
}
