package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wamble/internal/intent"

	"wamble"
)

// accepted is one acceptance of terms.
type accepted struct {
	session wamble.SessionID
	profile string
	hash    [32]byte
}

// applyIdentity applies the intents about identities, and reports whether it was one.
func (m *memory) applyIdentity(in intent.Intent) (bool, error) {
	switch in := in.(type) {
	case *intent.LinkSession:
		s := m.sessions[in.Session]
		if s == nil {
			return true, fmt.Errorf("session %d is unknown", in.Session)
		}
		p := m.players[in.Key]
		if p == nil {
			p = &wamble.Player{ID: in.Player, Key: in.Key, Handle: in.Handle, Created: in.At,
				Stats: wamble.Stats{Rating: in.Rating}}
			m.players[in.Key] = p
		}
		s.Key, s.Player, s.Handle = in.Key, p.ID, p.Handle
	case *intent.SetName:
		if m.isNamed(in.Name, in.Key) {
			return true, fmt.Errorf("%s is the name of two", in.Name)
		}
		if p := m.players[in.Key]; p != nil {
			p.Handle, p.Renamed = in.Name, in.At
			for _, s := range m.sessions {
				if s.Key == in.Key {
					s.Handle = in.Name
				}
			}
		}
	case *intent.SetTrust:
		for _, s := range m.sessions {
			if s.ID == in.Session || !in.Key.IsZero() && s.Key == in.Key {
				s.Trust = in.Level
			}
		}
	case *intent.MarkBot:
		s := m.sessions[in.Session]
		if s == nil {
			return true, fmt.Errorf("session %d is unknown", in.Session)
		}
		s.Bot = true
	case *intent.RenewToken:
		s := m.sessions[in.Session]
		if s == nil {
			return true, fmt.Errorf("session %d is unknown", in.Session)
		}
		delete(m.created, s.Token)
		s.Token, s.Host = in.Token, in.Host
		m.created[s.Token] = s
	case *intent.UnlinkSession:
		s := m.sessions[in.Session]
		if s == nil {
			return true, fmt.Errorf("session %d is unknown", in.Session)
		}
		s.Key, s.Player, s.Handle = wamble.PublicKey{}, 0, ""
	case *intent.RecordTermsAcceptance:
		if m.sessions[in.Session] == nil || in.Text == "" {
			return true, fmt.Errorf("session %d is unknown, or there is no text", in.Session)
		}
		m.terms = append(m.terms, accepted{in.Session, in.Profile, in.Hash})
	case *intent.RevokeSessions:
		for _, s := range m.sessions {
			if s.Key == in.Key && (s.ID == in.Session) != in.Others {
				delete(m.created, s.Token)
				s.Token = wamble.TokenHash{}
			}
		}
	case *intent.MergePlayers:
		from, into := m.players[in.From], m.players[in.Into]
		if from == nil || into == nil {
			return true, nil
		}
		for _, s := range m.sessions {
			if s.Key == in.From {
				s.Key, s.Player, s.Handle = in.Into, into.ID, into.Handle
			}
		}
		delete(m.players, in.From)
	case *intent.ErasePlayer:
		if p := m.players[in.Key]; p != nil && in.Player != 0 && p.ID != in.Player {
			return true, nil
		}
		delete(m.players, in.Key)
		for _, s := range m.sessions {
			if s.Key == in.Key {
				delete(m.created, s.Token)
				s.Token, s.Key, s.Player, s.Handle = wamble.TokenHash{}, wamble.PublicKey{}, 0, ""
				m.terms = slices.DeleteFunc(m.terms, func(a accepted) bool { return a.session == s.ID })
				m.predictions = slices.DeleteFunc(m.predictions,
					func(p *wamble.Prediction) bool { return p.Session == s.ID })
			}
		}
	default:
		return false, nil
	}
	return true, nil
}

// isNamed reports whether a player other than but has a name.
func (m *memory) isNamed(name string, but wamble.PublicKey) bool {
	for _, p := range m.players {
		if p.Key != but && strings.EqualFold(p.Handle, name) {
			return true
		}
	}
	return false
}

// player returns an identity with the stats of all its sessions, nil if it does not exist.
func (m *memory) player(key wamble.PublicKey) *wamble.Player {
	p := m.players[key]
	if p == nil {
		return nil
	}
	c := *p
	for _, s := range m.sessions {
		if s.Key == key {
			c.Stats.Score += s.Stats.Score
			c.Stats.PredictionScore += s.Stats.PredictionScore
			c.Stats.Games += s.Stats.Games
			c.Stats.Chess960Games += s.Stats.Chess960Games
		}
	}
	return &c
}

// answerIdentity answers the loads about identities.
func (m *memory) answerIdentity(l Load, in *Loaded) {
	switch l.Subject {
	case SessionOf:
		s := m.sessions[l.Session]
		if l.Session == 0 {
			s = m.byToken(l.Token)
		}
		if s != nil {
			in.Session, in.Outcome = m.session(s.ID), Found
			in.Answer = m.about(s, l)
		}
	case PlayerOf:
		if first := l.First; first.Handle != "" && m.players[l.Key] == nil {
			first.ID = wamble.PlayerID(m.lease(Lease{Sequence: wamble.PlayerIDs, Count: 1})[0].First)
			m.players[l.Key] = &first
		}
		if p := m.player(l.Key); p != nil {
			in.Answer, in.Outcome = &Answer{Player: p}, Found
		}
	case TargetOf:
		if s := m.target(l); s != nil {
			in.Session, in.Outcome = s, Found
			in.Answer = m.about(s, l)
		}
	case RanksOf:
		in.Answer, in.Outcome = &Answer{Ranks: m.ranks(l.Page)}, Found
	case ReservationsOf:
		in.Answer, in.Outcome = &Answer{Reservations: slices.Clone(m.reserved)}, Found
	case NameOf:
		if p := m.players[l.Key]; p != nil && !l.First.Renamed.IsZero() && !m.isNamed(l.Handle, l.Key) &&
			!p.Renamed.After(l.First.Renamed.Add(-MinNameAge)) {
			p.Handle, p.Renamed = l.Handle, l.First.Renamed
		}
		if p := m.player(l.Key); p != nil {
			in.Answer, in.Outcome = &Answer{Player: p}, Found
			for _, other := range m.players {
				if strings.EqualFold(other.Handle, l.Handle) {
					in.Session = &wamble.Session{Key: other.Key, Handle: other.Handle}
				}
			}
		}
	case SessionsOf:
		in.Answer, in.Outcome = &Answer{}, Found
		for _, s := range m.sessions {
			if s.Key == l.Key && !s.Token.IsZero() {
				in.Answer.Sessions = append(in.Answer.Sessions, *s)
			}
		}
	case TermsOf:
		in.Answer, in.Outcome = &Answer{Accepted: slices.Contains(m.terms, accepted{l.Session, l.Profile, l.Hash})},
			Found
	}
}

func (m *memory) about(s *wamble.Session, l Load) *Answer {
	return &Answer{Player: m.player(s.Key), Accepted: slices.Contains(m.terms, accepted{s.ID, l.Profile, l.Hash})}
}

func (m *memory) target(l Load) *wamble.Session {
	if l.Session != 0 {
		if m.sessions[l.Session] == nil {
			return nil
		}
		return m.session(l.Session)
	}
	var found *wamble.Session
	for _, s := range m.sessions {
		if s.Handle == l.Handle && (found == nil || s.ID > found.ID) {
			found = s
		}
	}
	if found != nil {
		return m.session(found.ID)
	}
	for _, p := range m.players {
		if p.Handle == l.Handle {
			return &wamble.Session{Player: p.ID, Key: p.Key, Handle: p.Handle}
		}
	}
	return nil
}

// ranks is a page of the leaderboard, by score or rating.
func (m *memory) ranks(q wamble.LeaderboardQuery) *wamble.Leaderboard {
	var all []wamble.LeaderboardRow
	for id := range m.sessions {
		if q.Season != 0 && q.Season != wamble.SeasonOf(epoch) {
			break
		}
		s := m.session(id)
		who := int64(s.Player)
		if who == 0 {
			who = -int64(id)
		}
		all = append(all, wamble.LeaderboardRow{Who: who, Session: id, Key: s.Key, Handle: s.Handle, Stats: s.Stats})
	}
	value := func(r wamble.LeaderboardRow) float64 {
		if q.ByRating {
			return r.Stats.Rating
		}
		return r.Stats.Score
	}
	slices.SortFunc(all, func(a, b wamble.LeaderboardRow) int {
		if value(a) != value(b) {
			return int(value(b)-value(a)) | 1
		}
		return int(a.Session - b.Session)
	})
	out := &wamble.Leaderboard{Total: len(all)}
	for i := range all {
		if team := 0; q.Season != 0 {
			if wamble.PlaysForBlack(all[i].Who, q.Season) {
				team = 1
			}
			out.Teams[team] += all[i].Stats.Score
		}
		all[i].Rank = i + 1
		if all[i].Session == q.Self {
			out.Self = &all[i]
		}
	}
	if q.Offset < len(all) {
		out.Rows = all[q.Offset:min(q.Offset+q.Limit, len(all))]
	}
	return out
}

// stored puts a session into the store, with an identity if it has a key.
func (m *memory) stored(id wamble.SessionID, key wamble.PublicKey, stats wamble.Stats, at time.Time) *wamble.Session {
	s := &wamble.Session{ID: id, Token: hashOf(wamble.Token{0xdd, byte(id), byte(id >> 8)}), Created: at, LastSeen: at,
		Stats: stats}
	if !key.IsZero() {
		p := m.players[key]
		if p == nil {
			p = &wamble.Player{ID: wamble.PlayerID(id), Key: key, Handle: fmt.Sprintf("h_%04d", id),
				Stats: wamble.Stats{Rating: 1200}}
			m.players[key] = p
		}
		s.Key, s.Player, s.Handle = key, p.ID, p.Handle
	}
	m.sessions[id], m.created[s.Token] = s, s
	return s
}
