package profile

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"time"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/session"
)

// Seek selects sessions in memory for the host: those that match any field that is not zero.
type Seek struct {
	Name    string               // part of a handle, without regard to case
	Key     *[2]wamble.PublicKey // the first and the last key
	Token   wamble.Token
	Hash    wamble.TokenHash // of the token
	Session wamble.SessionID
	Net     netip.Prefix
	Board   wamble.BoardID // held by the session
}

// Present is a session in memory, as the host sees it.
type Present struct {
	Session wamble.SessionID
	Token   wamble.TokenHash
	Player  wamble.PlayerID  // 0: a guest
	Key     wamble.PublicKey // zero: a guest
	Handle  string
	Trust   int
	Bot     bool
	Address netip.AddrPort // where pushes go; zero: not connected
	Board   wamble.BoardID // held by the session; 0: none
	Created time.Time
	Seen    time.Time
}

// Seek returns at most most matching sessions, and whether there may be more. A token, a session and a board are
// looked up. For the other fields at most maxSearched sessions are walked, those that are present first.
func (p *Profile) Seek(of Seek, most int) (found []Present, more bool) {
	return p.seek(of, most, maxSearched)
}

func (p *Profile) seek(of Seek, most, bound int) (found []Present, more bool) {
	add := func(s *session.Session) {
		switch {
		case s == nil || slices.ContainsFunc(found, func(other Present) bool { return other.Session == s.ID() }):
		case len(found) == most:
			more = true
		default:
			found = append(found, p.present(s))
		}
	}
	add(p.sessions.ByID(of.Session))
	add(p.sessions.Find(of.Token))
	if b := p.boards.Board(of.Board); b != nil {
		add(p.sessions.ByID(b.Holder()))
	}
	if of.Name == "" && !p.mayHave(of.Key) && of.Hash.IsZero() && !of.Net.IsValid() {
		return found, more
	}
	of.Name = strings.ToLower(of.Name)
	network, walked := access.Network(of.Net), 0
	for s := range p.sessions.All() {
		if walked++; walked > bound {
			return found, true
		}
		if p.matches(s, &of, network) {
			add(s)
		}
		if more {
			break
		}
	}
	return found, more
}

// mayHave reports whether an identity in memory may have one of the keys.
func (p *Profile) mayHave(keys *[2]wamble.PublicKey) bool {
	return keys != nil && (keys[0] != keys[1] || p.sessions.Identity(keys[0]) != nil)
}

// matches compares a session with the fields of a search that have no index.
func (p *Profile) matches(s *session.Session, of *Seek, network netip.Prefix) bool {
	if i := s.Identity(); i != nil {
		key := i.Key()
		if of.Key != nil && bytes.Compare(key[:], of.Key[0][:]) >= 0 && bytes.Compare(key[:], of.Key[1][:]) <= 0 ||
			of.Name != "" && strings.Contains(strings.ToLower(i.Handle()), of.Name) {
			return true
		}
	}
	return !of.Hash.IsZero() && s.Hash() == of.Hash || of.Net.IsValid() && p.link.At(s.Token(), network)
}

func (p *Profile) present(s *session.Session) Present {
	here := Present{
		Session: s.ID(), Token: s.Hash(), Trust: s.Trust(), Bot: s.Bot(),
		Created: p.clock.label(s.Created()), Seen: p.lastSeen(s),
	}
	if i := s.Identity(); i != nil {
		here.Player, here.Key, here.Handle = i.ID(), i.Key(), i.Handle()
	}
	if home, ok := p.link.Home(s.Token()); ok {
		here.Address = home.Addr
	}
	if b := p.boards.Held(s.ID()); b != nil {
		here.Board = b.ID()
	}
	return here
}

// lastSeen returns the wall time of a session's last sign of life. It never goes back: if a later time was
// shown or is stored, because the wall clock was set back since, it is that time.
func (p *Profile) lastSeen(s *session.Session) time.Time {
	at := s.Seen()
	if stored := s.Stored(); stored.After(at) {
		at = stored
	}
	return p.clock.latest(at)
}
