package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"wamble"
	"wamble/internal/session"
)

// Stamp is the message of a journal that brings a change to the store.
type Stamp struct {
	Journal uint64 `json:",omitempty"` // MarkOf; 0: the message is unknown
	Message uint64 `json:",omitempty"`
}

// MarkOf returns the number that stands for the journal of a profile, or of a shard, in stamps.
func MarkOf(journal [16]byte, profile string) uint64 {
	sum := sha256.Sum256(append(journal[:], profile...))
	return max(1, binary.LittleEndian.Uint64(sum[:]))
}

// Cursors is how far a store has come with each journal: the last message of each.
type Cursors []Stamp

// Has reports whether the store had a message. It reports false for a stamp without a journal.
func (c Cursors) Has(s Stamp) bool {
	for _, at := range c {
		if s.Journal != 0 && at.Journal == s.Journal {
			return s.Message <= at.Message
		}
	}
	return false
}

// copies records the store's cursors at the time at which sessions and identities in memory were read. A
// change from another machine that the store had by then is included in them, and must not be counted
// again.
type copies struct {
	sessions map[wamble.SessionID]*copied
	keys     map[wamble.PublicKey]*copied
	queue    []*copied // oldest first
}

// copied is a session or, with session 0, an identity.
type copied struct {
	session wamble.SessionID // or
	key     wamble.PublicKey
	store   Cursors
	here    bool // the session was read without its identity, and has logged in here since
	at      time.Duration
}

// LetterAge bounds how long a change takes from one machine to another. maxCopies bounds the entries of
// copies; changes of others are counted.
const (
	LetterAge = time.Minute
	maxCopies = 4096
)

func newCopies() copies {
	return copies{sessions: map[wamble.SessionID]*copied{}, keys: map[wamble.PublicKey]*copied{}}
}

// add records a copy that is made now.
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

// has says which copies include a change already: that of its session, and that of its identity.
type has struct{ session, identity bool }

// have returns which copies include a change. S is the session of the change, nil if it is not in memory.
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

// loggedInHere records that the copy of a session's identity includes what the session wins.
func (p *Profile) loggedInHere(s *session.Session) {
	if of := p.copies.sessions[s.ID()]; of != nil {
		of.here = true
	} else if p.copies.keys[whoOf(s).Key] != nil {
		p.copies.add(p.clock.since, copied{session: s.ID(), here: true})
	}
}

// known says what was in memory before an answer of the store came.
type known struct {
	session bool
	keys    []bool // for each of Loaded.Missed
	key     bool
}

// knownOf returns which subjects of an answer are in memory. The answer may be nil.
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

// copied records the cursors of the copies that were made of an answer, and applies to them the changes in
// Missed, which other machines sent before and the store did not have. The session is 0 if the answer was
// about an identity alone.
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
