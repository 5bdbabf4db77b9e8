package profile

import (
	"bytes"
	"encoding/hex"
	"net/netip"
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
	Token   string               // prefix of the token, in hex or as players see it
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
	Stats   wamble.Stats
}

// Seek returns at most most matching sessions, and whether there are more. It may scan all sessions in
// memory.
func (p *Profile) Seek(of Seek, most int) (found []Present, more bool) {
	network := access.Network(of.Net)
	of.Name = strings.ToLower(of.Name)
	for s := range p.sessions.All() {
		if !p.matches(s, &of, network) {
			continue
		}
		if len(found) == most {
			return found, true
		}
		found = append(found, p.present(s))
	}
	return found, false
}

func (p *Profile) matches(s *session.Session, of *Seek, network netip.Prefix) bool {
	if of.Session != 0 && s.ID() == of.Session || of.Net.IsValid() && p.link.At(s.Token(), network) {
		return true
	}
	if b := p.boards.Held(s.ID()); of.Board != 0 && b != nil && b.ID() == of.Board {
		return true
	}
	if i := s.Identity(); i != nil {
		key := i.Key()
		if of.Key != nil && bytes.Compare(key[:], of.Key[0][:]) >= 0 && bytes.Compare(key[:], of.Key[1][:]) <= 0 ||
			of.Name != "" && strings.Contains(strings.ToLower(i.Handle()), of.Name) {
			return true
		}
	}
	token := s.Token()
	return of.Token != "" && !token.IsZero() &&
		(strings.HasPrefix(hex.EncodeToString(token[:]), of.Token) || strings.HasPrefix(token.String(), of.Token))
}

func (p *Profile) present(s *session.Session) Present {
	here := Present{
		Session: s.ID(), Token: s.Hash(), Trust: s.Trust(), Bot: s.Bot(),
		Created: p.clock.label(s.Created()), Seen: p.clock.label(s.Seen()), Stats: p.sessions.Stats(s),
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
