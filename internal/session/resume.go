package session

import (
	"bytes"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"wamble"
	"wamble/internal/pack"
)

// The sessions of a resumed profile: their state in memory at some moment, and what the journal has of them
// since. In between they have the form of stored rows.

// Resumed is a session on its way back into memory.
type Resumed struct {
	wamble.Session
	Present   bool // fresh or live, if true
	LastBoard wamble.BoardID
	// HandedOver says that the session is that of a process that has ended, and cannot have ended meanwhile.
	// ReadHandoff must follow.
	HandedOver bool
	terms      terms
}

// SetTerms says that the session has accepted a revision.
func (r *Resumed) SetTerms(rev Revision) { r.terms = terms(rev) + 1 }

// Walk yields every session in memory that is not stale, in no order. The table may change while the walk rests;
// a session that stays in it is yielded once.
func (t *Table) Walk() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for _, s := range t.byID {
			if !s.stale && !yield(s) {
				return
			}
		}
	}
}

// WalkIdentities is Walk for the identities. For a handoff it yields the stale ones of sessions, too.
func (t *Table) WalkIdentities(handoff bool) iter.Seq[*Identity] {
	return func(yield func(*Identity) bool) {
		for _, i := range t.identities {
			if (!i.stale || handoff && i.sessions > 0) && !yield(i) {
				return
			}
		}
	}
}

type writer struct{ pack.Writer }

// stats writes rating and games. The totals that earlier versions have there are zero.
func (w *writer) stats(s wamble.Stats) {
	w.Float(s.Score)
	w.Float(s.PredictionScore)
	w.Float(s.Rating)
	w.Int(int64(s.Games))
	w.Int(int64(s.Chess960Games))
}

type reader struct{ pack.Reader }

func (r *reader) array16() (a [16]byte) {
	copy(a[:], r.Take(len(a)))
	return a
}

func (r *reader) array32() (a [32]byte) {
	copy(a[:], r.Take(len(a)))
	return a
}

func (r *reader) stats() wamble.Stats {
	return wamble.Stats{
		Score: r.Float(), PredictionScore: r.Float(), Rating: r.Float(), Games: int(r.Int()),
		Chess960Games: int(r.Int()),
	}
}

// isBot is a bit beside that of a present session.
const isBot = 2

// AppendState appends the session without its token to dst, for ReadResumed.
func (s *Session) AppendState(dst []byte) []byte {
	w := writer{dst}
	w.Int(int64(s.id))
	w.Raw(s.hash[:]...)
	if i := s.identity; i != nil {
		w.Raw(1)
		w.Raw(i.key[:]...)
	} else {
		w.Raw(0)
	}
	w.stats(s.games.stats())
	w.Int(int64(s.trust))
	w.Int(s.times.created)
	w.Int(s.times.lastSeen)
	present := byte(0)
	if s.greeting != nil || s.share.Host() != 0 {
		present = 1
	}
	if s.bot {
		present |= isBot
	}
	w.Raw(present)
	w.Uint(uint64(s.lastBoard))
	w.Uint(uint64(s.terms))
	w.Text(hostText(s.bound))
	return w.Writer
}

// ReadResumed decodes what Session.AppendState wrote.
func ReadResumed(from *pack.Reader) Resumed {
	r := &reader{Reader: *from}
	s := Resumed{Session: wamble.Session{ID: wamble.SessionID(r.Int()), Token: r.array16()}}
	if r.Octet() == 1 {
		s.Key = r.array32()
	}
	s.Stats = r.stats()
	s.Trust = int(r.Int32())
	s.Created, s.LastSeen = timeOf(r.Int()), timeOf(r.Int())
	present := r.Octet()
	s.Present, s.Bot = present&1 != 0, present&isBot != 0
	s.LastBoard, s.terms = wamble.BoardID(r.Uint()), terms(r.Uint())
	s.Host = string(r.Bytes())
	r.Must(s.ID > 0 && !s.Token.IsZero())
	*from = r.Reader
	return s
}

// AppendState appends the identity to dst, for ReadPlayer.
func (i *Identity) AppendState(dst []byte) []byte {
	w := writer{dst}
	w.Raw(i.key[:]...)
	w.Int(int64(i.id))
	w.Text(i.handle)
	w.stats(i.stats())
	return w.Writer
}

// ReadPlayer decodes what Identity.AppendState wrote.
func ReadPlayer(from *pack.Reader) wamble.Player {
	r := &reader{Reader: *from}
	p := wamble.Player{Key: r.array32(), ID: wamble.PlayerID(r.Int()), Handle: string(r.Bytes()), Stats: r.stats()}
	*from = r.Reader
	return p
}

// AppendEnded appends, for ReadEnded, the refused tokens, and the erased keys that the store may not have
// erased yet.
func (t *Table) AppendEnded(dst []byte) []byte {
	w := writer{dst}
	w.Uint(uint64(t.refused.Len()))
	t.refused.FromOldest(func(hash wamble.TokenHash, _ *struct{}) { w.Raw(hash[:]...) })
	w.Uint(uint64(len(t.erased)))
	for _, key := range slices.SortedFunc(maps.Keys(t.erased),
		func(a, b wamble.PublicKey) int { return bytes.Compare(a[:], b[:]) }) {
		w.Raw(key[:]...)
		w.Uint(t.erased[key])
	}
	return w.Writer
}

// ReadEnded decodes what AppendEnded wrote. The keys count as erased by message seq.
func (t *Table) ReadEnded(from *pack.Reader, seq uint64) {
	r := &reader{Reader: *from}
	for range r.Count() {
		if hash := wamble.TokenHash(r.array16()); !hash.IsZero() {
			t.refused.Use(hash)
		}
	}
	for range r.Count() {
		key := wamble.PublicKey(r.array32())
		r.Uint()
		if !r.Bad() {
			t.Erased(key, seq)
		}
	}
	*from = r.Reader
}

// ResumeIdentity takes an identity without sessions into memory, until the store has message seq.
func (t *Table) ResumeIdentity(player *wamble.Player, seq uint64) {
	i := identityOf(player)
	i.seq = seq
	t.identities[i.key] = i
	t.unused = append(t.unused, unusedIdentity{i, seq})
}

// Resume takes a resumed session into memory. Holds says that it holds a board. It stays in memory at least
// until the store has message seq. Errors: ErrEnded, or one for a session whose identity is missing.
func (t *Table) Resume(now time.Time, was *Resumed, player *wamble.Player, holds bool, seq uint64) (*Session, error) {
	at := t.tick(now)
	if t.byID[was.ID] != nil || !was.HandedOver && !t.takes(at, &was.Session) {
		return nil, ErrEnded
	}
	if (player != nil) != !was.Key.IsZero() {
		return nil, errors.New("a session came back without its identity")
	}
	s := t.revive(at, &was.Session, player)
	if i := s.identity; i != nil {
		i.id, i.handle, i.seq = player.ID, player.Handle, seq
	}
	s.lastBoard, s.terms, s.seq = was.LastBoard, was.terms, seq
	t.newest = max(t.newest, seq)
	switch {
	case holds:
		t.add(s, &t.lists.idle)
	case was.Present && t.Present() < t.opts.MaxPlayers:
		t.add(s, &t.lists.live)
	default:
		t.add(s, &t.lists.departing)
	}
	return s, nil
}
