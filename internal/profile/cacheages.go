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
	Journal uint64 `json:",omitempty"` // JournalHash; 0: the message is unknown
	Message uint64 `json:",omitempty"`
}

// JournalHash returns the number that stands for the journal of a profile, or of a shard, in stamps.
func JournalHash(journal [16]byte, profile string) uint64 {
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

// cacheAges records the store's cursors at the time at which sessions and identities in memory were read. A
// change from another machine that the store had by then is included in them, and must not be counted
// again.
type cacheAges struct {
	sessions map[wamble.SessionID]*cacheAge
	keys     map[wamble.PublicKey]*cacheAge
	queue    []*cacheAge // oldest first
}

// cacheAge is a session or, with session 0, an identity.
type cacheAge struct {
	session      wamble.SessionID // or
	key          wamble.PublicKey
	store        Cursors
	loggedInHere bool // the session was read without its identity, and has logged in here since
	at           time.Duration
}

// PeerMessageAge bounds how long a change takes from one machine to another. maxCacheAges bounds the entries of
// copies; changes of others are counted.
const (
	PeerMessageAge = time.Minute
	maxCacheAges   = 4096
)

func newCacheAges() cacheAges {
	return cacheAges{sessions: map[wamble.SessionID]*cacheAge{}, keys: map[wamble.PublicKey]*cacheAge{}}
}

// add records a copy that is made now.
func (c *cacheAges) add(now time.Duration, one cacheAge) {
	for len(c.queue) > 0 && (len(c.queue) == maxCacheAges || now-c.queue[0].at > PeerMessageAge) {
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

// alreadyApplied says which copies include a change already: that of its session, and that of its identity.
type alreadyApplied struct{ session, identity bool }

// applied returns which copies include a change. S is the session of the change, nil if it is not in memory.
func (c *cacheAges) applied(ch *StoreEvent, s *session.Session) (h alreadyApplied) {
	key := ch.Key
	if own := whoOf(s).Key; !own.IsZero() && ch.What == Credited {
		key = own
	}
	if of := c.keys[key]; of != nil {
		h.identity = of.store.Has(ch.Stamp)
	}
	if of := c.sessions[ch.Session]; of != nil {
		if h.session = of.store.Has(ch.Stamp); of.loggedInHere && ch.What == Credited {
			h.identity = h.session
		}
	}
	return h
}

// loggedInHere records that the copy of a session's identity includes what the session wins.
func (p *Profile) loggedInHere(s *session.Session) {
	if of := p.cacheAges.sessions[s.ID()]; of != nil {
		of.loggedInHere = true
	} else if p.cacheAges.keys[whoOf(s).Key] != nil {
		p.cacheAges.add(p.clock.since, cacheAge{session: s.ID(), loggedInHere: true})
	}
}

// inMemoryBefore says what was in memory before an answer of the store came.
type inMemoryBefore struct {
	session bool
	keys    []bool // for each of Loaded.Missed
	key     bool
}

// inMemoryBefore returns which subjects of an answer are in memory. The answer may be nil.
func (p *people) inMemoryBefore(in *Loaded, key wamble.PublicKey) (k inMemoryBefore) {
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

// noteCached records the cursors of the copies that were made of an answer, and applies to them the changes in
// Missed, which other machines sent before and the store did not have. The session is 0 if the answer was
// about an identity alone.
func (p *Profile) noteCached(in *Loaded, id wamble.SessionID, key wamble.PublicKey, before inMemoryBefore,
	out *Output) {
	if in == nil || in.Cursors == nil {
		return
	}
	if id != 0 && !before.session {
		p.cacheAges.add(p.clock.since, cacheAge{session: id, store: in.Cursors})
	}
	if !key.IsZero() && !before.key {
		p.cacheAges.add(p.clock.since, cacheAge{key: key, store: in.Cursors})
	}
	for i := range in.Missed {
		c := &in.Missed[i]
		s := p.sessions.ByID(c.Session)
		h := alreadyApplied{session: before.session || c.Session != id, identity: before.keys[i]}
		switch {
		case c.What == Credited && c.Key.IsZero():
			h.identity = before.key
			fallthrough
		case c.What == Credited:
			if s == nil || !c.Passed {
				p.sessions.Credit(c.Session, c.Key, c.Won, !h.session, !h.identity)
			}
		case c.What == LoggedIn:
			p.applyRemoteLogin(c, h)
		case c.What == LoggedOut:
			p.applyRemoteLogout(c, h, out)
		default:
			(&StoreEvents{Changes: in.Missed[i : i+1]}).apply(p, out)
		}
	}
}
