package link

import (
	"time"

	"wamble"
	"wamble/internal/share"
)

// table indexes the endpoints and sessions of a server, and keeps the memory of removed ones
// for reuse.
type table struct {
	endpoints map[wamble.Peer]*endpoint // the first endpoint of each address
	count     int                       // number of endpoints
	hosts     map[hostID]*host
	byToken   map[wamble.Token]*session
	timers    timers
	ages      [sources]list // by source; the longest silent endpoint first
	unproven  int           // number of unproven endpoints
	ranks     share.Ranks[host]
	crowds    share.Ranks[host] // ranks hosts by unproven endpoints
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

// take returns a value from spare, or a new one.
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

// add creates an endpoint at peer, a new address of sess.
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

// place adds e to the endpoints of its address, which are ordered by serial.
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

// displace removes e from the endpoints of its address.
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

// proven reports whether the address of e has proven itself, for e or for another session.
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

// rank returns the list that e is in: unproven endpoints are evicted first. A silent stream is
// not idle, since its connection shows that the client, perhaps a spectator, is there.
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

// touch records that a packet arrived at e. It does nothing for a second packet of the same
// batch.
func (t *table) touch(now time.Duration, e *endpoint) {
	if e.seen == now {
		return
	}
	e.seen = now
	t.ages[e.rank()].moveToBack(e, byAge)
	e.host.lists[e.rank()].moveToBack(e, byHost)
	t.ranks.Touch(&e.host.rank)
}

// yields returns the proven endpoint to evict for one more of host h when all size places are
// taken, nil if there is none: the idlest of the largest host if that has more than an eighth
// of the places; else the longest silent endpoint if it has been silent for idleProven, so that
// active players of one household stay; else the idlest of the largest host.
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

// outgrown returns the unproven endpoint to evict for another: the idlest of the host that has
// most of them, or of all if each host has one.
func (t *table) outgrown() *endpoint {
	if most := t.crowds.Most(); most.crowd.N() > 1 {
		return most.lists[unproven].first
	}
	return t.ages[unproven].first
}

// victim returns the endpoint of a host's lists to evict, or nil: an unproven one, else a
// proven one that has been silent for idleProven.
func victim(now time.Duration, lists *[sources]list) *endpoint {
	if e := lists[unproven].first; e != nil {
		return e
	}
	if e := lists[proven].first; e != nil && now-e.seen >= idleProven {
		return e
	}
	return nil
}

// remove removes e from every index. The caller must have removed it from its session and
// dropped its packets.
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
		e.queue = nil // spare endpoints are many and should be small
	}
	t.spareEndpoints = append(t.spareEndpoints, e)
}

// latest returns the address whose last packet is the newest, nil if addrs is empty.
func latest(addrs []*endpoint) *endpoint {
	var best *endpoint
	for _, a := range addrs {
		if best == nil || a.seen >= best.seen {
			best = a
		}
	}
	return best
}

// removeSession removes a session without addresses from every index. Its kept answers must
// have been dropped.
func (t *table) removeSession(s *session) {
	t.unchain(s)
	s.serial = 0
	t.sessions--
	t.spareSessions = append(t.spareSessions, s)
}
