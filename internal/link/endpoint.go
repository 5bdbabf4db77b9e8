package link

import (
	"iter"
	"maps"
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/internal/tokenbucket"
	"wamble/wire"
)

// Endpoint is the server's end of all connections of one listener. It is used from one goroutine:
//
//	for each packet: switch r := s.Receive(now, from, b, out); r.Verdict {
//		case link.New: decide; Answer(s, r.Request, …) for each answer;
//		               s.Finish(r.Request, gate), now or in a later step
//		case link.Delivered: the client of r.Packet.Token is alive
//		}
//	when the journal is durable up to gate: s.Release(now, gate, out)
//	at s.Next(): s.Due(now, out)
//	then write out
//
// The caller orders the requests of one token.
type Endpoint struct {
	cfg      Config
	backoff  backoff
	now      time.Duration
	table    table
	requests requests
	outputs  heldOutputs
	limits   limiter
	budgets  budgets
	proofs   *lru.Table[wamble.Peer, remembered]
	seals    seals
	pool     pool
	transfer uint32 // number of the last transfer in fragments
	got      arrival
	classed  wire.Packet // the last packet of Classify
	scratch  []byte
	payload  []byte
	stats    Stats
}

// Verdict says what a received packet means to a Server.
type Verdict uint8

const (
	// Dropped: nothing to do; Stats count the reason.
	Dropped Verdict = iota
	// New: a request to be handled.
	New
	// Duplicate: a copy of a finished request; it was acknowledged again, and its answer sent
	// again if it is kept.
	Duplicate
	// Delivered: an ACK of a waiting packet, an ACK of number 0, or any ACK with a token of its
	// connection: the client is alive.
	Delivered
	// Limited: a request over a rate limit.
	Limited
	// Challenged: a hello without a good cookie; it was answered with one.
	Challenged
)

// Received is the result of Endpoint.Receive. It is valid until the next Receive.
type Received struct {
	Verdict Verdict
	// Request identifies the request until it is released. It is set with New.
	Request Request
	// Packet is the received packet, set with New and Duplicate; with Delivered only its Header is
	// set. Its byte slices are views into the received bytes.
	Packet *wire.Packet
	// Granted is set when an anonymous hello is new only because its answer is no longer kept:
	// it is the token that the earlier answer gave. Answer for that session instead of creating
	// another.
	Granted wamble.Token
	// Rebound is set when the packet added an address to its session. It should be noted in the
	// log, because anyone with the token can do that.
	Rebound bool
}

// arrival is the last packet that was received.
type arrival struct {
	packet wire.Packet
	Received
}

// NewEndpoint returns a Server without sessions.
func NewEndpoint(cfg Config) *Endpoint {
	s := &Endpoint{
		table:   newTable(),
		limits:  limiter{lru.New[limitKey, counter](maxCounters)},
		budgets: budgets{networks: lru.New[hostID, tokenbucket.Bucket](maxCounters)},
		proofs:  lru.New[wamble.Peer, remembered](maxCounters),
	}
	s.SetConfig(cfg)
	return s
}

// SetConfig replaces the settings. Packets that wait for an ACK keep their timers; smaller
// bounds take effect as addresses come and go.
func (e *Endpoint) SetConfig(cfg Config) {
	e.cfg = cfg.withDefaults()
	e.backoff = e.cfg.backoff()
}

// Stats returns the counters.
func (e *Endpoint) Stats() Stats { return e.stats }

// Size counts what a Server stores.
type Size struct {
	Paths, Sessions, Requests, Hosts int
	PacketBytes                      int // bytes of capacity of queued and kept packets
}

// Size returns the current size.
func (e *Endpoint) Size() Size {
	return Size{
		Paths:       e.table.count,
		Sessions:    e.table.sessions,
		Requests:    e.requests.used(),
		Hosts:       len(e.table.hosts),
		PacketBytes: e.pool.held,
	}
}

func (e *Endpoint) tick(now time.Duration) time.Duration {
	e.now = max(e.now, now)
	return e.now
}

// Linked reports whether a token has a session here, so that a push reaches it.
func (e *Endpoint) Linked(token wamble.Token) bool { return e.table.byToken[token] != nil }

// ReadsAll reports whether the clients of all sessions of a token read packets with more than
// wire.OldMaxFields fields.
func (e *Endpoint) ReadsAll(token wamble.Token) bool {
	for sess := e.table.byToken[token]; sess != nil; sess = sess.next {
		if !sess.readsAll {
			return false
		}
	}
	return true
}

// Home returns the address for pushes to a token, and false if the token has no session here.
func (e *Endpoint) Home(token wamble.Token) (wamble.Peer, bool) {
	sess := e.table.byToken[token]
	if sess == nil {
		return wamble.Peer{}, false
	}
	return sess.home.peer, true
}

// Tokens yields every token that has a session, in no order.
func (e *Endpoint) Tokens() iter.Seq[wamble.Token] { return maps.Keys(e.table.byToken) }

// At reports whether a token has a session with an address in a network.
func (e *Endpoint) At(token wamble.Token, network netip.Prefix) bool {
	for sess := e.table.byToken[token]; sess != nil; sess = sess.next {
		for _, a := range sess.addrs {
			if network.Contains(a.peer.IP().Unmap().WithZone("")) {
				return true
			}
		}
	}
	return false
}

// TokensAt appends the tokens with a session at an address to dst.
func (e *Endpoint) TokensAt(peer wamble.Peer, dst []wamble.Token) []wamble.Token {
	for path := e.table.paths[peer]; path != nil; path = path.beside {
		if !path.sess.token.IsZero() {
			dst = append(dst, path.sess.token)
		}
	}
	return dst
}

// Forget removes an address at once, as when a WebSocket connection is closed. Its requests in
// flight are executed, but their answers are dropped.
func (e *Endpoint) Forget(peer wamble.Peer) {
	for path := e.table.paths[peer]; path != nil; path = e.table.paths[peer] {
		e.removePath(path)
	}
}

// Purge ends the sessions of a token, as LOGOUT does: it drops their kept answers and all
// addresses but keep, which no longer belongs to the token. The request that caused it can
// still be finished.
func (e *Endpoint) Purge(token wamble.Token, keep wamble.Peer) {
	for sess := e.table.byToken[token]; sess != nil; {
		next := sess.next
		e.dropAnswers(sess)
		keeper := e.table.paths[keep]
		for keeper != nil && keeper.sess != sess {
			keeper = keeper.beside
		}
		if keeper != nil {
			e.table.bindToken(sess, wamble.Token{})
			sess.granted = wamble.Token{}
		}
		for i := len(sess.addrs) - 1; i >= 0; i-- {
			if a := sess.addrs[i]; a != keeper {
				e.removePath(a)
			}
		}
		sess = next
	}
}

// Silence drops the packets that wait for an ACK of a token's sessions, and their kept answers. The addresses stay.
func (e *Endpoint) Silence(token wamble.Token) {
	for sess := e.table.byToken[token]; sess != nil; sess = sess.next {
		e.dropAnswers(sess)
		for _, path := range sess.addrs {
			e.dropPackets(path)
		}
	}
}

// dropPackets drops the packets that wait for an ACK at an address.
func (e *Endpoint) dropPackets(path *path) {
	for i := range path.queue {
		e.pool.drop(path.queue[i].k)
	}
	for i := range path.bundles {
		e.dropBundle(&path.bundles[i])
	}
	path.queue, path.bundles = path.queue[:0], path.bundles[:0]
}

// removePath removes an address, and its session with the last one.
func (e *Endpoint) removePath(path *path) {
	e.dropPackets(path)
	if path.proof.proven && !path.peer.Stream() {
		e.remember(path.seen, path)
	}
	e.leaveSession(path)
	e.table.remove(path)
}

// leaveSession removes an address from its session, which ends with the last one.
func (e *Endpoint) leaveSession(path *path) {
	sess := path.sess
	for i, a := range sess.addrs {
		if a == path {
			sess.addrs = append(sess.addrs[:i], sess.addrs[i+1:]...)
			break
		}
	}
	if sess.home == path {
		sess.home = latest(sess.addrs)
		if sess.home != nil {
			e.table.timers.sooner(sess.home, e.now+1) // the timer of home expires the kept answers
		}
	}
	if len(sess.addrs) == 0 {
		e.dropAnswers(sess)
		e.table.removeSession(sess)
	}
}

// makeRoom makes room for one more path at peer. It returns false if none can be evicted
// for it.
func (e *Endpoint) makeRoom(now time.Duration, peer wamble.Peer) bool {
	if oldest, n := e.countAt(peer); n >= maxPerAddress {
		return e.evict(oldest)
	}
	h := e.table.hosts[hostKey(peer)]
	switch {
	case h != nil && h.rank.N() >= e.cfg.MaxPerHost:
		return e.evict(victim(now, &h.lists))
	case peer.Stream():
		return e.admit(now, h)
	case e.table.unproven >= min(max(e.cfg.MaxPaths/4, minUnproven), maxUnproven):
		return e.evict(e.table.outgrown())
	}
	return true
}

// admit makes room for one more proven path of host h, nil for a new host. Unproven
// paths have a separate bound, so that forged addresses displace only those.
func (e *Endpoint) admit(now time.Duration, h *host) bool {
	if e.table.count-e.table.unproven < e.cfg.MaxPaths {
		return true
	}
	return e.evict(e.table.yields(now, h, e.cfg.MaxPaths))
}

// countAt counts the paths of an address, and returns the one to evict for another: the
// latest unproven one, so that a flood of forged packets displaces only unproven paths; if
// all are proven, the longest silent one, because the owner of the address has begun them all.
func (e *Endpoint) countAt(peer wamble.Peer) (out *path, n int) {
	for path := e.table.paths[peer]; path != nil; path = path.beside {
		n++
		switch {
		case !path.proof.proven:
			out = path
		case out == nil || out.proof.proven && path.seen < out.seen:
			out = path
		}
	}
	return out, n
}

func (e *Endpoint) evict(path *path) bool {
	if path == nil {
		e.stats.Refused++
		return false
	}
	e.stats.Evicted++
	e.removePath(path)
	return true
}
