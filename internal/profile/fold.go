package profile

import (
	"slices"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/internal/session"
)

// What an intent of the journal's tail does to the slices is what the store does to its rows. The methods are
// those of intent.Memory, which Row.Apply calls; those of the boards are in package board.

func (r *resumption) CreateBoard(seq uint64, in *intent.CreateBoard) {
	r.p.leases.Skip(wamble.BoardIDs, int64(in.Board))
	r.Resumption.CreateBoard(seq, in)
}

func (r *resumption) UnlinkSession(seq uint64, in *intent.UnlinkSession) {
	if s := r.session(in.Session, seq); s != nil {
		s.Key = wamble.PublicKey{}
	}
}

func (r *resumption) MarkBot(seq uint64, in *intent.MarkBot) {
	if s := r.session(in.Session, seq); s != nil {
		s.Bot = true
	}
}

func (r *resumption) SetName(seq uint64, in *intent.SetName) {
	if i := r.players[in.Key]; i == nil {
		r.p.unstored.keys[in.Key] = true
	} else if i.lastSeq < seq {
		i.Handle = in.Name
	}
}

func (r *resumption) UpdateSessionLastSeen(_ uint64, in *intent.UpdateSessionLastSeen) {
	if s := r.sessions[in.Session]; s != nil && s.LastSeen.Before(in.At) {
		s.LastSeen = in.At
	}
}

func (r *resumption) RecordTermsAcceptance(seq uint64, in *intent.RecordTermsAcceptance) {
	if s := r.session(in.Session, seq); s != nil && in.Profile == r.p.cfg.Name {
		s.SetTerms(session.RevisionOf(in.Hash))
	}
}

func (r *resumption) PurgeSessions(uint64, *intent.PurgeSessions) { r.p.unstored.all = true }

// session returns a session that does not include message seq yet. It returns nil if the session includes it, or
// is unknown: then the store is not asked about it before it has everything.
func (r *resumption) session(id wamble.SessionID, seq uint64) *resumedSession {
	s := r.sessions[id]
	switch {
	case s == nil:
		r.p.unstored.sessions[id] = true
		return nil
	case s.lastSeq >= seq:
		return nil
	}
	return s
}

// drop leaves a session to the store.
func (r *resumption) drop(s *resumedSession) {
	r.p.unstored.add(s.ID, s.Token, s.Key)
	delete(r.sessions, s.ID)
}

func (r *resumption) RecordMove(seq uint64, in *intent.RecordMove) {
	r.Resumption.RecordMove(seq, in)
	s := r.sessions[in.Session]
	if s == nil || s.lastSeq >= seq {
		return
	}
	s.LastBoard = in.Board
	if !in.First {
		return
	}
	stats := &s.Stats
	if i := r.players[s.Key]; i != nil && i.lastSeq >= seq {
		return
	} else if i != nil {
		stats = &i.Stats
	}
	stats.Games++
	if r.Variant(in.Board) >= 0 {
		stats.Chess960Games++
	}
}

func (r *resumption) RecordRating(seq uint64, in *intent.RecordRating) {
	key := in.Key
	if s := r.sessions[in.Session]; key.IsZero() && s != nil {
		key = s.Key
	}
	if i := r.players[key]; i != nil && i.lastSeq < seq {
		i.Stats.Rating += in.Delta
	}
}

func (r *resumption) CreateSession(seq uint64, in *intent.CreateSession) {
	r.p.leases.Skip(wamble.SessionIDs, int64(in.Session))
	if r.sessions[in.Session] != nil {
		return
	}
	s := &resumedSession{lastSeq: seq - 1}
	s.Session = wamble.Session{ID: in.Session, Token: in.Token, Created: in.At, LastSeen: in.At}
	s.Present = true
	r.addSession(s)
	if in.Player != 0 {
		r.drop(s)
	}
}

func (r *resumption) RenewToken(seq uint64, in *intent.RenewToken) {
	if s := r.session(in.Session, seq); s != nil {
		if s.Token != in.Token {
			r.p.sessions.RefuseHash(s.Token)
		}
		s.Token, s.Host = in.Token, in.Host
	} else if r.sessions[in.Session] == nil {
		r.p.unstored.tokens[in.Token] = true
	}
}

// LinkSession gives a session an identity. If the identity is neither in memory nor new, the session is left to
// the store.
func (r *resumption) LinkSession(seq uint64, in *intent.LinkSession) {
	isNew := r.p.leases.Skip(wamble.PlayerIDs, int64(in.Player))
	i := r.players[in.Key]
	if i == nil && isNew {
		i = &resumedPlayer{
			Player: wamble.Player{ID: in.Player, Key: in.Key, Handle: in.Handle, Created: in.At}, lastSeq: seq - 1,
		}
		i.Stats.Rating = in.Rating
		r.players[in.Key] = i
	}
	s := r.session(in.Session, seq)
	switch {
	case s == nil && r.sessions[in.Session] == nil:
		r.p.unstored.keys[in.Key] = true
	case s == nil:
	case i == nil:
		s.Key = in.Key
		r.drop(s)
	default:
		s.Key = in.Key
	}
}

func (r *resumption) SetTrust(seq uint64, in *intent.SetTrust) {
	if in.Session != 0 {
		if s := r.session(in.Session, seq); s != nil {
			s.Trust = in.Level
		}
		return
	}
	for _, s := range r.sessions {
		if s.Key == in.Key && s.lastSeq < seq {
			s.Trust = in.Level
		}
	}
	if r.players[in.Key] == nil {
		r.p.unstored.keys[in.Key] = true
	}
}

func (r *resumption) ErasePlayer(seq uint64, in *intent.ErasePlayer) {
	key := in.Key
	if i := r.players[key]; in.Player != 0 && (i == nil && r.p.unstored.keys[key] ||
		i != nil && i.lastSeq < seq && i.ID != in.Player) {
		return // a new identity has the key, or only the store knows
	}
	for _, s := range r.sessions {
		if s.Key == key && s.lastSeq < seq {
			r.p.sessions.RefuseHash(s.Token)
			r.drop(s)
		}
	}
	if i := r.players[key]; i != nil && i.lastSeq < seq {
		delete(r.players, key)
	}
	r.p.sessions.Erased(key, r.p.watermarks.resumed)
	delete(r.p.unstored.keys, key) // the next login with it makes a new identity
}

// MergePlayers leaves both players of a merge to the store.
func (r *resumption) MergePlayers(seq uint64, in *intent.MergePlayers) {
	for _, s := range r.sessions {
		if (s.Key == in.From || s.Key == in.Into) && s.lastSeq < seq {
			r.drop(s)
		}
	}
	for _, key := range []wamble.PublicKey{in.From, in.Into} {
		if i := r.players[key]; i != nil && i.lastSeq < seq {
			delete(r.players, key)
		}
		r.p.unstored.keys[key] = true
	}
	r.p.rememberMerged(in.From, in.Into)
}

func (r *resumption) RevokeSessions(seq uint64, in *intent.RevokeSessions) {
	for _, s := range r.sessions {
		if s.Key == in.Key && (s.ID == in.Session) != in.Others && s.lastSeq < seq {
			r.p.sessions.RefuseHash(s.Token)
			r.drop(s)
		}
	}
	if !in.Key.IsZero() {
		r.p.unstored.keys[in.Key] = true
	}
}

// treeOf returns the predictions of a board, nil if they include message seq.
func (r *resumption) treeOf(id wamble.BoardID, seq uint64) *resumedTree {
	t := r.predictions[id]
	if t == nil {
		t = &resumedTree{}
		r.predictions[id] = t
	}
	if t.lastSeq >= seq {
		return nil
	}
	return t
}

func (r *resumption) RecordPrediction(seq uint64, in *intent.RecordPrediction) {
	r.p.leases.Skip(wamble.PredictionIDs, int64(in.ID))
	t := r.treeOf(in.Board, seq)
	if t == nil {
		return
	}
	row := wamble.Prediction{
		ID: in.ID, Board: in.Board, Session: in.Session, Parent: in.Parent, UCI: in.UCI, Ply: in.Ply,
		Streak: in.Streak, At: in.At,
	}
	for i := range t.rows {
		if t.rows[i].ID == in.Parent {
			row.Depth = t.rows[i].Depth + 1
		}
	}
	t.rows = append(t.rows, row)
	r.boardOf[in.ID] = in.Board
}

func (r *resumption) ResolvePrediction(seq uint64, in *intent.ResolvePrediction) {
	id, known := r.boardOf[in.ID]
	if !known {
		return
	}
	if t := r.treeOf(id, seq); t != nil {
		for i := range t.rows {
			if t.rows[i].ID == in.ID {
				t.rows[i].Status, t.rows[i].Points = in.Status, in.Points
			}
		}
	}
}

// restorePredictions takes the pending predictions of all boards into memory, with their ancestors and
// those of the last move.
func (r *resumption) restorePredictions() {
	if len(r.predictions) == 0 {
		return
	}
	for b := range r.p.boards.All() {
		r.restoreTree(b)
	}
	for b := range r.p.boards.EachOver() {
		r.restoreTree(b)
	}
}

func (r *resumption) restoreTree(b *board.Board) {
	t := r.predictions[b.ID()]
	if t == nil {
		return
	}
	wanted := map[wamble.PredictionID]bool{}
	for i := len(t.rows) - 1; i >= 0; i-- {
		row := &t.rows[i]
		wanted[row.ID] = wanted[row.ID] || r.handoff != nil || row.Status == wamble.Pending || row.Ply == b.Plies()
		if wanted[row.ID] && row.Parent != 0 {
			wanted[row.Parent] = true
		}
	}
	r.p.restorePredictions(b, slices.DeleteFunc(t.rows, func(row wamble.Prediction) bool { return !wanted[row.ID] }))
}
