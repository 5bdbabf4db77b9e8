package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"wamble"
	"wamble/internal/session"
)

// Stamp is a message of a journal. A change is in the store as soon as the message is.
type Stamp struct {
	Journal uint64 `json:",omitempty"` // MarkOf; 0: nobody knows the message
	Message uint64 `json:",omitempty"`
}

// MarkOf is what stands for the journal of a profile, or of a shard, in stamps.
func MarkOf(journal [16]byte, profile string) uint64 {
	sum := sha256.Sum256(append(journal[:], profile...))
	return max(1, binary.LittleEndian.Uint64(sum[:]))
}

// Cursors is how far a store has come with journals: the last message of each.
type Cursors []Stamp

// Has reports whether the store had a message. Of one without a journal nobody knows.
func (c Cursors) Has(s Stamp) bool {
	for _, at := range c {
		if s.Journal != 0 && at.Journal == s.Journal {
			return s.Message <= at.Message
		}
	}
	return false
}

// copies is how far the store had come when sessions and identities were read that are in
// memory. What another machine has told it and tells us later is in them.
type copies struct {
	sessions map[wamble.SessionID]*copied
	keys     map[wamble.PublicKey]*copied
	queue    []*copied // the oldest first
}

type copied struct {
	session wamble.SessionID // or
	key     wamble.PublicKey
	store   Cursors
	here    bool // the session was read without its identity, and has logged in here
	at      time.Duration
}

// Machines tell each other within LetterAge what they have decided.
const (
	LetterAge = time.Minute
	maxCopies = 4096 // that are known; what is told of others counts
)

func newCopies() copies {
	return copies{sessions: map[wamble.SessionID]*copied{}, keys: map[wamble.PublicKey]*copied{}}
}

// add notes a copy that was made now.
func (c *copies) add(now time.Duration, one copied) {
	for len(c.queue) > 0 && (len(c.queue) == maxCopies || now-c.queue[0].at > LetterAge) {
		first := c.queue[0]
		if c.sessions[first.session] == first {
			delete(c.sessions, first.session)
		}
		if c.keys[first.key] == first {
			delete(c.keys, first.key)
		}
		c.queue = c.queue[1:]
	}
	one.at = now
	c.queue = append(c.queue, &one)
	if one.session != 0 {
		c.sessions[one.session] = &one
	} else {
		c.keys[one.key] = &one
	}
}

// has is which copies have a change already: that of its session, and that of the identity.
type has struct{ session, identity bool }

// have reports which copies have a change. S is its session, nil if it is not in memory.
func (c *copies) have(ch *Change, s *session.Session) (h has) {
	key := ch.Key
	if own := whoOf(s).Key; !own.IsZero() && ch.What == Credited {
		key = own
	}
	if of := c.keys[key]; of != nil {
		h.identity = of.store.Has(ch.Stamp)
	}
	if of := c.sessions[ch.Session]; of != nil {
		if h.session = of.store.Has(ch.Stamp); of.here && ch.What == Credited {
			h.identity = h.session
		}
	}
	return h
}

// loggedInHere notes that a session brought what it had won to an identity, from now on with
// what it wins.
func (p *Profile) loggedInHere(s *session.Session) {
	if of := p.copies.sessions[s.ID()]; of != nil {
		of.here = true
	} else if p.copies.keys[whoOf(s).Key] != nil {
		p.copies.add(p.clock.since, copied{session: s.ID(), here: true})
	}
}

// known is who was in memory before an answer of the store came.
type known struct {
	session bool
	keys    []bool // of Loaded.Missed
	key     bool
}

// knownOf is who of an answer is in memory. The answer may be nil.
func (p *Profile) knownOf(in *Loaded, key wamble.PublicKey) (k known) {
	if in == nil || in.Cursors == nil {
		return k
	}
	k.session = in.Session != nil && p.sessions.ByID(in.Session.ID) != nil
	k.key = p.sessions.Identity(key) != nil
	for i := range in.Missed {
		k.keys = append(k.keys, p.sessions.Identity(in.Missed[i].Key) != nil)
	}
	return k
}

// copied notes how old the copies are that were made of an answer, and tells them what
// other machines had told before, and the store did not have. The session is 0 if the answer
// was about an identity alone.
func (p *Profile) copied(in *Loaded, id wamble.SessionID, key wamble.PublicKey, before known, out *Output) {
	if in == nil || in.Cursors == nil {
		return
	}
	if id != 0 && !before.session {
		p.copies.add(p.clock.since, copied{session: id, store: in.Cursors})
	}
	if !key.IsZero() && !before.key {
		p.copies.add(p.clock.since, copied{key: key, store: in.Cursors})
	}
	for i := range in.Missed {
		c := &in.Missed[i]
		s := p.sessions.ByID(c.Session)
		h := has{session: before.session || c.Session != id, identity: before.keys[i]}
		switch {
		case c.What == Credited && c.Key.IsZero():
			h.identity = before.key
			fallthrough
		case c.What == Credited:
			if s == nil || !c.Passed {
				p.sessions.Credit(c.Session, c.Key, c.Won, !h.session, !h.identity)
			}
		case c.What == LoggedIn:
			p.loggedInElsewhere(c, h)
		case c.What == LoggedOut:
			p.loggedOutElsewhere(c, h, out)
		default:
			(&News{Changes: in.Missed[i : i+1]}).take(p, out)
		}
	}
}
