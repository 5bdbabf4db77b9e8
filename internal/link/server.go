package link

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/internal/lru"
	"wamble/wire"
)

// Server is the server's end of all connections of one listener. It is used from one goroutine:
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
type Server struct {
	cfg      Config
	pace     pace
	now      time.Duration
	table    table
	requests requests
	held     held
	limits   limiter
	budgets  budgets
	proofs   *lru.Table[wamble.Peer, remembered]
	seals    seals
	pool     pool
	transfer uint32 // number of the last transfer in fragments
	got      arrival
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
	// Delivered: an ACK of a waiting packet, or an ACK of number 0, which shows that the client
	// is alive.
	Delivered
	// Limited: a request over a rate limit.
	Limited
	// Challenged: a hello without a good cookie; it was answered with one.
	Challenged
)

// Received is the result of Server.Receive. It is valid until the next Receive.
type Received struct {
	Verdict Verdict
	// Request identifies the request until it is released. It is set with New.
	Request Request
	// Packet is the received packet, set with New; with Delivered only its Header is set. Its
	// byte slices are views into the received bytes.
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

// NewServer returns a Server without sessions.
func NewServer(cfg Config) *Server {
	s := &Server{
		table:   newTable(),
		limits:  limiter{lru.New[limitKey, counter](maxCounters)},
		budgets: budgets{networks: lru.New[hostID, flow](maxCounters)},
		proofs:  lru.New[wamble.Peer, remembered](maxCounters),
	}
	s.SetConfig(cfg)
	return s
}

// SetConfig replaces the settings. Packets that wait for an ACK keep their timers; smaller
// bounds take effect as addresses come and go.
func (s *Server) SetConfig(cfg Config) {
	s.cfg = cfg.withDefaults()
	s.pace = s.cfg.pace()
}

// Stats returns the counters.
func (s *Server) Stats() Stats { return s.stats }

// Size counts what a Server stores.
type Size struct {
	Endpoints, Sessions, Requests, Hosts int
	PacketBytes                          int // bytes of capacity of queued and kept packets
}

// Size returns the current size.
func (s *Server) Size() Size {
	return Size{
		Endpoints:   s.table.count,
		Sessions:    s.table.sessions,
		Requests:    s.requests.used(),
		Hosts:       len(s.table.hosts),
		PacketBytes: s.pool.held,
	}
}

func (s *Server) tick(now time.Duration) time.Duration {
	s.now = max(s.now, now)
	return s.now
}

// Linked reports whether a token has a session here, so that a push reaches it.
func (s *Server) Linked(token wamble.Token) bool { return s.table.byToken[token] != nil }

// Home returns the address for pushes to a token, and false if the token has no session here.
func (s *Server) Home(token wamble.Token) (wamble.Peer, bool) {
	sess := s.table.byToken[token]
	if sess == nil {
		return wamble.Peer{}, false
	}
	return sess.home.peer, true
}

// At reports whether a token has a session with an address in a network.
func (s *Server) At(token wamble.Token, network netip.Prefix) bool {
	for sess := s.table.byToken[token]; sess != nil; sess = sess.next {
		for _, a := range sess.addrs {
			if network.Contains(a.peer.IP().Unmap().WithZone("")) {
				return true
			}
		}
	}
	return false
}

// TokensAt appends the tokens with a session at an address to dst.
func (s *Server) TokensAt(peer wamble.Peer, dst []wamble.Token) []wamble.Token {
	for e := s.table.endpoints[peer]; e != nil; e = e.beside {
		if !e.sess.token.IsZero() {
			dst = append(dst, e.sess.token)
		}
	}
	return dst
}

// Forget removes an address at once, as when a WebSocket connection is closed. Its requests in
// flight are executed, but their answers are dropped.
func (s *Server) Forget(peer wamble.Peer) {
	for e := s.table.endpoints[peer]; e != nil; e = s.table.endpoints[peer] {
		s.removeEndpoint(e)
	}
}

// Purge ends the sessions of a token, as LOGOUT does: it drops their kept answers and all
// addresses but keep, which no longer belongs to the token. The request that caused it can
// still be finished.
func (s *Server) Purge(token wamble.Token, keep wamble.Peer) {
	for sess := s.table.byToken[token]; sess != nil; {
		next := sess.next
		s.dropKept(sess)
		keeper := s.table.endpoints[keep]
		for keeper != nil && keeper.sess != sess {
			keeper = keeper.beside
		}
		if keeper != nil {
			s.table.bindToken(sess, wamble.Token{})
			sess.granted = wamble.Token{}
		}
		for i := len(sess.addrs) - 1; i >= 0; i-- {
			if a := sess.addrs[i]; a != keeper {
				s.removeEndpoint(a)
			}
		}
		sess = next
	}
}

// removeEndpoint removes an address, and its session with the last one.
func (s *Server) removeEndpoint(e *endpoint) {
	for i := range e.queue {
		s.pool.drop(e.queue[i].k)
	}
	for i := range e.bundles {
		s.dropBundle(&e.bundles[i])
	}
	e.queue, e.bundles = e.queue[:0], e.bundles[:0]
	if e.proof.proven && !e.peer.Stream() {
		s.remember(e.seen, e)
	}
	s.leave(e)
	s.table.remove(e)
}

// leave removes an address from its session, which ends with the last one.
func (s *Server) leave(e *endpoint) {
	sess := e.sess
	for i, a := range sess.addrs {
		if a == e {
			sess.addrs = append(sess.addrs[:i], sess.addrs[i+1:]...)
			break
		}
	}
	if sess.home == e {
		sess.home = latest(sess.addrs)
		if sess.home != nil {
			s.table.timers.sooner(sess.home, s.now+1) // the timer of home expires the kept answers
		}
	}
	if len(sess.addrs) == 0 {
		s.dropKept(sess)
		s.table.removeSession(sess)
	}
}

// makeRoom makes room for one more endpoint at peer. It returns false if none can be evicted
// for it.
func (s *Server) makeRoom(now time.Duration, peer wamble.Peer) bool {
	if oldest, n := s.crowd(peer); n >= maxPerAddress {
		return s.evict(oldest)
	}
	h := s.table.hosts[hostKey(peer)]
	switch {
	case h != nil && h.rank.N() >= s.cfg.MaxPerHost:
		return s.evict(victim(now, &h.lists))
	case peer.Stream():
		return s.admit(now, h)
	case s.table.unproven >= min(max(s.cfg.MaxEndpoints/4, minUnproven), maxUnproven):
		return s.evict(s.table.outgrown())
	}
	return true
}

// admit makes room for one more proven endpoint of host h, nil for a new host. Unproven
// endpoints have a separate bound, so that forged addresses displace only those.
func (s *Server) admit(now time.Duration, h *host) bool {
	if s.table.count-s.table.unproven < s.cfg.MaxEndpoints {
		return true
	}
	return s.evict(s.table.yields(now, h, s.cfg.MaxEndpoints))
}

// crowd counts the endpoints of an address, and returns the one to evict for another: the
// latest unproven one, so that a flood of forged packets displaces only unproven endpoints; if
// all are proven, the longest silent one, because the owner of the address has begun them all.
func (s *Server) crowd(peer wamble.Peer) (out *endpoint, n int) {
	for e := s.table.endpoints[peer]; e != nil; e = e.beside {
		n++
		switch {
		case !e.proof.proven:
			out = e
		case out == nil || out.proof.proven && e.seen < out.seen:
			out = e
		}
	}
	return out, n
}

func (s *Server) evict(e *endpoint) bool {
	if e == nil {
		s.stats.Refused++
		return false
	}
	s.stats.Evicted++
	s.removeEndpoint(e)
	return true
}
