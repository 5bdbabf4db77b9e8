package link

import (
	"time"

	"wamble"
	"wamble/internal/share"
)

// table indexes the paths and sessions of a server, and keeps the memory of removed ones
// for reuse.
type table struct {
	paths         map[wamble.Peer]*path // the first path of each address
	count         int                   // number of paths
	hosts         map[hostID]*host
	byToken       map[wamble.Token]*session
	timers        timers
	ages          [sources]list // by source; the longest silent path first
	unproven      int           // number of unproven paths
	ranks         share.Ranks[host]
	unprovenRanks share.Ranks[host] // ranks hosts by unproven paths
	serial        uint64
	sessions      int

	sparePaths    []*path
	spareSessions []*session
	spareHosts    []*host
}

func newTable() table {
	return table{
		paths:   map[wamble.Peer]*path{},
		hosts:   map[hostID]*host{},
		byToken: map[wamble.Token]*session{},
	}
}

// reuse returns a value from spare, or a new one.
func reuse[T any](spare *[]*T) *T {
	if n := len(*spare); n > 0 {
		v := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return v
	}
	return new(T)
}

// addSession returns a new session without an address.
func (t *table) addSession() *session {
	s := reuse(&t.spareSessions)
	*s = session{open: s.open[:0], answers: s.answers[:0], addrs: s.addrs[:0]}
	t.serial++
	t.sessions++
	s.serial = t.serial
	return s
}

// add creates a path at peer, a new address of sess.
func (t *table) add(now time.Duration, peer wamble.Peer, sess *session) *path {
	added := reuse(&t.sparePaths)
	*added = path{queue: added.queue[:0], bundles: added.bundles[:0]}
	t.serial++
	added.peer, added.serial, added.sess, added.seen, added.out = peer, t.serial, sess, now, 1
	added.proof.proven = peer.Stream()
	t.place(added)
	key := hostKey(peer)
	h := t.hosts[key]
	if h == nil {
		h = reuse(&t.spareHosts)
		*h = host{}
		t.hosts[key] = h
	}
	t.ranks.Grow(&h.rank, h)
	added.host = h
	t.enlist(added)
	sess.addrs = append(sess.addrs, added)
	if sess.home == nil {
		sess.home = added
	}
	return added
}

// place adds a path to those of its address, which are ordered by serial.
func (t *table) place(path *path) {
	t.count++
	first := t.paths[path.peer]
	if first == nil || first.serial > path.serial {
		path.beside, t.paths[path.peer] = first, path
		return
	}
	for first.beside != nil && first.beside.serial < path.serial {
		first = first.beside
	}
	path.beside, first.beside = first.beside, path
}

// displace removes a path from those of its address.
func (t *table) displace(path *path) {
	t.count--
	first := t.paths[path.peer]
	switch {
	case first != path:
		for first.beside != path {
			first = first.beside
		}
		first.beside = path.beside
	case path.beside != nil:
		t.paths[path.peer] = path.beside
	default:
		delete(t.paths, path.peer)
	}
	path.beside = nil
}

// proven reports whether the address of a path has proven itself, for it or for another session.
func (t *table) proven(path *path) bool {
	if path.proof.proven {
		return true
	}
	for a := t.paths[path.peer]; a != nil; a = a.beside {
		if a.proof.proven {
			return true
		}
	}
	return false
}

// rank returns the list that the path is in: unproven paths are evicted first. A silent stream is
// not idle, since its connection shows that the client, perhaps a spectator, is there.
func (p *path) rank() source {
	switch {
	case p.peer.Stream():
		return stream
	case p.proof.proven:
		return proven
	}
	return unproven
}

func (t *table) enlist(path *path) {
	t.ages[path.rank()].push(path, byAge)
	path.host.lists[path.rank()].push(path, byHost)
	if !path.proof.proven {
		t.unproven++
		t.unprovenRanks.Grow(&path.host.unprovenRank, path.host)
	}
}

func (t *table) delist(path *path) {
	t.ages[path.rank()].remove(path, byAge)
	path.host.lists[path.rank()].remove(path, byHost)
	if !path.proof.proven {
		t.unproven--
		t.unprovenRanks.Shrink(&path.host.unprovenRank, path.host)
	}
}

// touch records that a packet arrived at a path. It does nothing for a second packet of the same
// batch.
func (t *table) touch(now time.Duration, path *path) {
	if path.seen == now {
		return
	}
	path.seen = now
	t.ages[path.rank()].moveToBack(path, byAge)
	path.host.lists[path.rank()].moveToBack(path, byHost)
	t.ranks.Touch(&path.host.rank)
}

// yields returns the proven path to evict for one more of host h when all size places are
// taken, nil if there is none: the idlest of the largest host if that has more than an eighth
// of the places; else the longest silent path if it has been silent for idleProven, so that
// active players of one household stay; else the idlest of the largest host.
func (t *table) yields(now time.Duration, h *host, size int) *path {
	most := t.ranks.Most()
	if h != nil && h.rank.N() == most.rank.N() {
		most = h
	}
	if n := most.rank.N(); n > 1 && n*8 > size {
		if path := most.idlest(); path != nil {
			return path
		}
	}
	if path := t.ages[proven].first; path != nil && now-path.seen >= idleProven {
		return path
	}
	if most.rank.N() < 2 {
		return nil
	}
	return most.idlest()
}

// outgrown returns the unproven path to evict for another: the idlest of the host that has
// most of them, or of all if each host has one.
func (t *table) outgrown() *path {
	if most := t.unprovenRanks.Most(); most.unprovenRank.N() > 1 {
		return most.lists[unproven].first
	}
	return t.ages[unproven].first
}

// victim returns the path of a host's lists to evict, or nil: an unproven one, else a
// proven one that has been silent for idleProven.
func victim(now time.Duration, lists *[sources]list) *path {
	if path := lists[unproven].first; path != nil {
		return path
	}
	if path := lists[proven].first; path != nil && now-path.seen >= idleProven {
		return path
	}
	return nil
}

// remove removes a path from every index. The caller must have removed it from its session and
// dropped its packets.
func (t *table) remove(path *path) {
	t.delist(path)
	t.timers.remove(path)
	t.displace(path)
	if t.ranks.Shrink(&path.host.rank, path.host); path.host.rank.N() == 0 {
		delete(t.hosts, hostKey(path.peer))
		t.spareHosts = append(t.spareHosts, path.host)
	}
	path.serial, path.sess, path.host = 0, nil, nil
	if cap(path.queue) > maxWithheld {
		path.queue = nil // spare paths are many and should be small
	}
	t.sparePaths = append(t.sparePaths, path)
}

// latest returns the address whose last packet is the newest, nil if addrs is empty.
func latest(addrs []*path) *path {
	var best *path
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
