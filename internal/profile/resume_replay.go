package profile

import (
	"slices"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/intent"
	"wamble/internal/session"
)

// replay is the one switch over intents in the journal's tail: it does to the slices what the store does to
// its rows.
func (v *resumption) replay(p *Profile, seq uint64, in intent.Intent) {
	switch in := in.(type) {
	case *intent.CreateBoard:
		p.leases.Skip(wamble.BoardIDs, int64(in.Board))
		v.boards.Create(in)
	case *intent.ArriveBoard:
		v.boards.Arrive(in)
	case *intent.MoveBoard:
		v.boards.Depart(seq, in)
	case *intent.UpdateBoard:
		v.boards.Update(seq, in)
	case *intent.UpdateBoardAssignmentTime:
		v.boards.Assigned(seq, in)
	case *intent.CreateReservation:
		v.boards.Reserve(seq, in)
	case *intent.RemoveReservation:
		v.boards.Release(seq, in)
	case *intent.RecordMove:
		v.move(p, seq, in)
	case *intent.RecordPayout:
		v.credit(p, seq, in.Session, wamble.Stats{Score: in.Points})
	case *intent.ResolvePrediction:
		v.resolve(seq, in)
		v.credit(p, seq, in.Session, wamble.Stats{PredictionScore: in.Points})
	case *intent.RecordPrediction:
		p.leases.Skip(wamble.PredictionIDs, int64(in.ID))
		v.predict(seq, in)
	case *intent.RecordRating:
		v.rate(seq, in)
	case *intent.CreateSession:
		p.leases.Skip(wamble.SessionIDs, int64(in.Session))
		v.create(p, seq, in)
	case *intent.RenewToken:
		v.renew(p, seq, in)
	case *intent.LinkSession:
		v.link(p, seq, in)
	case *intent.UnlinkSession:
		if s := v.of(p, in.Session, seq); s != nil {
			v.detach(s, seq)
		}
	case *intent.MarkBot:
		if s := v.of(p, in.Session, seq); s != nil {
			s.Bot = true
		}
	case *intent.SetTrust:
		v.trust(p, seq, in)
	case *intent.SetName:
		if i := v.players[in.Key]; i == nil {
			p.behind.keys[in.Key] = true
		} else if i.mark < seq {
			i.Handle = in.Name
		}
	case *intent.UpdateSessionLastSeen:
		if s := v.sessions[in.Session]; s != nil && s.LastSeen.Before(in.At) {
			s.LastSeen = in.At
		}
	case *intent.RecordTermsAcceptance:
		if s := v.of(p, in.Session, seq); s != nil && in.Profile == p.cfg.Name {
			s.SetTerms(session.RevisionOf(in.Hash))
		}
	case *intent.ErasePlayer:
		v.erase(p, seq, in)
	case *intent.MergePlayers:
		v.merge(p, seq, in)
	case *intent.RevokeSessions:
		v.revoke(p, seq, in)
	case *intent.PurgeSessions:
		p.behind.all = true
	}
}

// of returns a session that does not include message seq yet. It returns nil if the session includes it, or
// is unknown: then the store is not asked about it before it has everything.
func (v *resumption) of(p *Profile, id wamble.SessionID, seq uint64) *resumedSession {
	s := v.sessions[id]
	switch {
	case s == nil:
		p.behind.sessions[id] = true
		return nil
	case s.mark >= seq:
		return nil
	}
	return s
}

// drop leaves a session to the store.
func (v *resumption) drop(p *Profile, s *resumedSession) {
	p.behind.add(s.ID, s.Token, s.Key)
	delete(v.sessions, s.ID)
}

func add(to *wamble.Stats, what wamble.Stats, n float64) {
	to.Score += n * what.Score
	to.PredictionScore += n * what.PredictionScore
	to.Games += int(n) * what.Games
	to.Chess960Games += int(n) * what.Chess960Games
}

func (v *resumption) move(p *Profile, seq uint64, in *intent.RecordMove) {
	v.boards.Move(seq, in)
	if s := v.sessions[in.Session]; s != nil && s.mark < seq {
		s.Left = in.Board
	}
	if !in.First {
		return
	}
	game := wamble.Stats{Games: 1}
	if v.boards.Variant(in.Board) >= 0 {
		game.Chess960Games = 1
	}
	v.credit(p, seq, in.Session, game)
}

// credit adds what a session has won to the session and to its identity.
func (v *resumption) credit(p *Profile, seq uint64, id wamble.SessionID, won wamble.Stats) {
	if s := v.sessions[id]; s != nil {
		if i := v.players[s.Key]; i != nil && i.mark < seq {
			add(&i.Stats, won, 1)
		}
	}
	if s := v.of(p, id, seq); s != nil {
		add(&s.Stats, won, 1)
	}
}

func (v *resumption) rate(seq uint64, in *intent.RecordRating) {
	key := in.Key
	if s := v.sessions[in.Session]; key.IsZero() && s != nil {
		key = s.Key
	}
	if i := v.players[key]; i != nil && i.mark < seq {
		i.Stats.Rating += in.Delta
	}
}

func (v *resumption) create(p *Profile, seq uint64, in *intent.CreateSession) {
	if v.sessions[in.Session] != nil {
		return
	}
	s := &resumedSession{mark: seq - 1}
	s.Session = wamble.Session{ID: in.Session, Token: in.Token, Created: in.At, LastSeen: in.At}
	s.Present = true
	v.addSession(s)
	if in.Player != 0 {
		v.drop(p, s)
	}
}

func (v *resumption) renew(p *Profile, seq uint64, in *intent.RenewToken) {
	if s := v.of(p, in.Session, seq); s != nil {
		if s.Token != in.Token {
			p.sessions.RefuseHash(s.Token)
		}
		s.Token, s.Host = in.Token, in.Host
	} else if v.sessions[in.Session] == nil {
		p.behind.tokens[in.Token] = true
	}
}

// link gives a session an identity. If the identity is neither in memory nor new, the session is left to
// the store.
func (v *resumption) link(p *Profile, seq uint64, in *intent.LinkSession) {
	isNew := p.leases.Skip(wamble.PlayerIDs, int64(in.Player))
	i := v.players[in.Key]
	if i == nil && isNew {
		i = &resumedPlayer{Player: wamble.Player{ID: in.Player, Key: in.Key, Handle: in.Handle, Created: in.At}, mark: seq - 1}
		i.Stats.Rating = in.Rating
		v.players[in.Key] = i
	}
	s := v.of(p, in.Session, seq)
	switch {
	case s == nil && v.sessions[in.Session] == nil:
		p.behind.keys[in.Key] = true
	case s == nil:
	case i == nil:
		v.detach(s, seq)
		s.Key = in.Key
		v.drop(p, s)
	default:
		v.detach(s, seq)
		s.Key = in.Key
		if i.mark < seq {
			add(&i.Stats, s.Stats, 1)
		}
	}
}

// detach removes a session from its identity, and from the identity's totals.
func (v *resumption) detach(s *resumedSession, seq uint64) {
	if i := v.players[s.Key]; i != nil && i.mark < seq {
		add(&i.Stats, s.Stats, -1)
	}
	s.Key = wamble.PublicKey{}
}

func (v *resumption) trust(p *Profile, seq uint64, in *intent.SetTrust) {
	if in.Session != 0 {
		if s := v.of(p, in.Session, seq); s != nil {
			s.Trust = in.Level
		}
		return
	}
	for _, s := range v.sessions {
		if s.Key == in.Key && s.mark < seq {
			s.Trust = in.Level
		}
	}
	if v.players[in.Key] == nil {
		p.behind.keys[in.Key] = true
	}
}

func (v *resumption) erase(p *Profile, seq uint64, in *intent.ErasePlayer) {
	key := in.Key
	if i := v.players[key]; in.Player != 0 && (i == nil && p.behind.keys[key] || i != nil && i.mark < seq && i.ID != in.Player) {
		return // a new identity has the key, or only the store knows
	}
	for _, s := range v.sessions {
		if s.Key == key && s.mark < seq {
			p.sessions.RefuseHash(s.Token)
			v.drop(p, s)
		}
	}
	if i := v.players[key]; i != nil && i.mark < seq {
		delete(v.players, key)
	}
	p.sessions.Erased(key, resumeGate)
	delete(p.behind.keys, key) // the next login with it makes a new identity
}

// merge leaves both players of a merge to the store.
func (v *resumption) merge(p *Profile, seq uint64, in *intent.MergePlayers) {
	for _, s := range v.sessions {
		if (s.Key == in.From || s.Key == in.Into) && s.mark < seq {
			v.drop(p, s)
		}
	}
	for _, key := range []wamble.PublicKey{in.From, in.Into} {
		if i := v.players[key]; i != nil && i.mark < seq {
			delete(v.players, key)
		}
		p.behind.keys[key] = true
	}
	p.keepMerged(in.From, in.Into)
}

func (v *resumption) revoke(p *Profile, seq uint64, in *intent.RevokeSessions) {
	for _, s := range v.sessions {
		if s.Key == in.Key && (s.ID == in.Session) != in.Others && s.mark < seq {
			p.sessions.RefuseHash(s.Token)
			v.drop(p, s)
		}
	}
	if !in.Key.IsZero() {
		p.behind.keys[in.Key] = true
	}
}

// treeOf returns the predictions of a board, nil if they include message seq.
func (v *resumption) treeOf(id wamble.BoardID, seq uint64) *resumedTree {
	t := v.predictions[id]
	if t == nil {
		t = &resumedTree{}
		v.predictions[id] = t
	}
	if t.mark >= seq {
		return nil
	}
	return t
}

func (v *resumption) predict(seq uint64, in *intent.RecordPrediction) {
	t := v.treeOf(in.Board, seq)
	if t == nil {
		return
	}
	row := wamble.Prediction{
		ID: in.ID, Board: in.Board, Session: in.Session, Parent: in.Parent, UCI: in.UCI, Ply: in.Ply, Streak: in.Streak, At: in.At,
	}
	for i := range t.rows {
		if t.rows[i].ID == in.Parent {
			row.Depth = t.rows[i].Depth + 1
		}
	}
	t.rows = append(t.rows, row)
	v.boardOf[in.ID] = in.Board
}

func (v *resumption) resolve(seq uint64, in *intent.ResolvePrediction) {
	id, known := v.boardOf[in.ID]
	if !known {
		return
	}
	if t := v.treeOf(id, seq); t != nil {
		for i := range t.rows {
			if t.rows[i].ID == in.ID {
				t.rows[i].Status, t.rows[i].Points = in.Status, in.Points
			}
		}
	}
}

// restorePredictions takes the pending predictions of all boards into memory, with their ancestors and
// those of the last move.
func (v *resumption) restorePredictions(p *Profile) {
	if len(v.predictions) == 0 {
		return
	}
	for b := range p.boards.All() {
		v.restoreTree(p, b)
	}
	for b := range p.boards.EachOver() {
		v.restoreTree(p, b)
	}
}

func (v *resumption) restoreTree(p *Profile, b *board.Board) {
	t := v.predictions[b.ID()]
	if t == nil {
		return
	}
	wanted := map[wamble.PredictionID]bool{}
	for i := len(t.rows) - 1; i >= 0; i-- {
		row := &t.rows[i]
		if wanted[row.ID] = wanted[row.ID] || row.Status == wamble.Pending || row.Ply == b.Plies(); wanted[row.ID] && row.Parent != 0 {
			wanted[row.Parent] = true
		}
	}
	p.restorePredictions(b, slices.DeleteFunc(t.rows, func(row wamble.Prediction) bool { return !wanted[row.ID] }))
}
