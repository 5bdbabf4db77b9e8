package profile

import (
	"slices"

	"wamble"
	"wamble/internal/predict"
	"wamble/wire"
)

// Players watch boards of other shards, and predict on them. Their own shard, which knows their rights,
// asks the shard that has the board.

// Ask is what another shard asks about a board of this one: to look at it; with Limit > 0, to read its
// predictions; with UCI, to predict a move.
type Ask struct {
	Board        wamble.BoardID
	Depth, Limit int
	Session      wamble.SessionID
	Token        wamble.Token
	UCI          string
	Parent       wamble.PredictionID
	Level        int
	Reads        bool
}

// Told is the answer to an Ask. It may be used when the step is durable.
type Told struct {
	Known  bool // the board is here
	Sight  Sight
	Rows   []predict.Row
	Status predict.SubmitStatus
}

func (in *Ask) take(p *Profile, out *Output) {
	b := p.boards.Board(in.Board)
	if b == nil || p.stage != running {
		return
	}
	told := &Told{Known: true, Sight: Sight{p.spectated(b), !b.Watchable()}}
	switch {
	case in.UCI != "" && p.readOnly():
		told.Status = predict.Limit
	case in.UCI != "":
		var row predict.Row
		row, told.Status = p.audience.book.Submit(p.clock.now, predict.Submission{
			Session: in.Session, Token: in.Token, Board: b.ID(), On: b.Position(), UCI: in.UCI, Parent: in.Parent, Level: in.Level, Reads: in.Reads,
		}, &p.draft)
		if told.Status == predict.Created {
			p.stats.Scores.Predictions++
		}
		if row.ID != 0 {
			told.Rows = []predict.Row{row}
		}
		p.seal(out)
	case in.Limit > 0:
		told.Rows = p.audience.book.Read(nil, b.ID(), in.Depth, min(in.Limit, wire.MaxRows))
	}
	out.Told = told
}

// elsewhere asks the other shards about the board of a request that this shard does not have. It returns
// nil and done if none of them has it, and waits while they are being asked.
func (p *Profile) elsewhere(r *request, ask Ask, out *Output) (*Told, verdict) {
	if p.shard.Of <= 1 || r.h.Board == 0 || p.boards.Recent(r.h.Board) != nil {
		return nil, done
	}
	if in := r.answerTo(ElsewhereOf); in != nil {
		if in.Answer == nil || in.Answer.Told == nil || !in.Answer.Told.Known {
			return nil, done
		}
		return in.Answer.Told, done
	}
	ask.Board, ask.Session, ask.Token = r.h.Board, r.session.ID(), r.h.Token
	return nil, p.ask(r, Load{Subject: ElsewhereOf, Token: r.h.Token, Ask: ask}, out)
}

// Known is what this shard has in memory of a session, or of the sessions of an identity; it is newer than
// the store. Another shard uses it for its answers.
type Known struct {
	Session  *wamble.Session // nil if it is not in memory
	Player   *wamble.Player  // the session's identity, or that of the key; nil if not in memory
	Sessions []wamble.Session
}

// Knows returns what is in memory of a session or a key; either may be zero.
func (p *Profile) Knows(id wamble.SessionID, key wamble.PublicKey) (k Known) {
	if s := p.sessions.ByID(id); s != nil {
		k.Session = &wamble.Session{ID: s.ID(), Token: s.Hash(), Created: p.clock.label(s.Created()), LastSeen: p.clock.label(s.Seen()), Stats: p.sessions.Stats(s)}
		if who := whoOf(s); !who.Key.IsZero() {
			key = who.Key
			k.Session.Player, k.Session.Key, k.Session.Handle = who.ID, key, s.Identity().Handle()
		}
	}
	if key.IsZero() {
		return k
	}
	if i := p.sessions.Identity(key); i != nil {
		k.Player = &wamble.Player{ID: i.ID(), Key: key, Handle: i.Handle(), Stats: i.Stats()}
	}
	for _, s := range p.sessions.Of(key) {
		k.Sessions = append(k.Sessions, wamble.Session{ID: s.ID(), Token: s.Hash(), Key: key, Created: p.clock.label(s.Created()), LastSeen: p.clock.label(s.Seen())})
	}
	return k
}

// Improve replaces parts of the answer to a load by what a shard has in memory.
func (k *Known) Improve(l *Load, in *Loaded) {
	switch {
	case l.Subject == TargetOf && l.Session != 0 && k.Session != nil:
		in.Outcome, in.Session = Found, k.Session
		fallthrough
	case l.Subject == TargetOf && k.Player != nil:
		if in.Answer == nil {
			in.Answer = &Answer{}
		}
		if k.Player != nil {
			in.Answer.Player = k.Player
		}
	case l.Subject == SessionsOf && in.Answer != nil:
		for _, s := range k.Sessions {
			i := slices.IndexFunc(in.Answer.Sessions, func(row wamble.Session) bool { return row.ID == s.ID })
			if i < 0 {
				in.Answer.Sessions = append(in.Answer.Sessions, s)
			} else {
				in.Answer.Sessions[i].LastSeen = s.LastSeen
			}
		}
	}
}
