package link

import (
	"time"

	"wamble"
	"wamble/internal/tokenbucket"
)

// session is one run of a client's sequence numbers. It is kept as long as it has an address.
type session struct {
	serial  uint64 // unique in the life of the server; 0 once it is removed
	token   wamble.Token
	win     window
	epoch   uint32   // grows when the numbers restart
	open    []uint32 // requests in flight
	answers []answer // answers kept for replay, oldest first
	addrs   []*path  // its addresses, oldest first
	home    *path    // where pushes are sent
	// homeSince is when home last changed. The ACK of an older packet, delayed on its way from
	// a former home, must not change it back.
	homeSince time.Duration
	// granted is the token in the SERVER_HELLO of this session, so that a repeated anonymous
	// hello does not create a second player.
	granted wamble.Token
	claimed bool // a client has used its token, in a request or an ACK
	// readsAll says that the client has sent a key that the original lacks, so that it reads packets with
	// more than wire.OldMaxFields fields.
	readsAll bool
	rebinds  tokenbucket.Bucket
	history  history
	// Sessions of one token form a chain, the session with the latest new request first.
	prev, next *session
}

// answer is the answer of one request, kept for replay.
type answer struct {
	of      fingerprint // of the request
	at      time.Duration
	packets []*packet
}

// findAnswer returns the answer of a request that is still kept, or nil.
func (s *session) findAnswer(now, ttl time.Duration, in *incoming) *answer {
	for i := range s.answers {
		if t := &s.answers[i]; t.of == in.print && now-t.at <= ttl {
			return t
		}
	}
	return nil
}

// stream reports whether the session belongs to a connection, whose session no other address
// can join.
func (s *session) stream() bool { return s.home != nil && s.home.peer.Stream() }

// bindToken indexes a session by its token; the zero token removes it from the index.
func (t *table) bindToken(s *session, token wamble.Token) {
	if s.token == token {
		return
	}
	t.unchain(s)
	s.token = token
	t.chain(s)
}

// chain puts s first in the chain of its token.
func (t *table) chain(s *session) {
	if s.token.IsZero() {
		return
	}
	s.prev, s.next = nil, t.byToken[s.token]
	if s.next != nil {
		s.next.prev = s
	}
	t.byToken[s.token] = s
}

func (t *table) unchain(s *session) {
	if s.token.IsZero() {
		return
	}
	switch {
	case s.prev != nil:
		s.prev.next = s.next
	case s.next != nil:
		t.byToken[s.token] = s.next
	default:
		delete(t.byToken, s.token)
	}
	if s.next != nil {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}

// promote makes s the latest session of its token.
func (t *table) promote(s *session) {
	if s.prev != nil {
		t.unchain(s)
		t.chain(s)
	}
}
