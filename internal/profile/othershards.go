package profile

import (
	"slices"

	"wamble"
	"wamble/internal/predict"
	"wamble/wire"
)

// Players watch boards of other shards, and predict on them. Their own shard, which knows their rights,
// asks the shard that has the board.

// BoardRequest is what another shard asks about a board of this one: to look at it; with Limit > 0, to read its
// predictions; with UCI, to predict a move.
type BoardRequest struct {
	Board        wamble.BoardID
	Depth, Limit int
	Session      wamble.SessionID
	Token        wamble.Token
	UCI          string
	Parent       wamble.PredictionID
	Level        int
	Reads        bool
}

// BoardReply is the answer to an Ask. It may be used when the step is durable.
type BoardReply struct {
	Known  bool // the board is here
	Sight  BoardView
	Rows   []predict.Row
	Status predict.SubmitStatus
}

func (in *BoardRequest) apply(p *Profile, out *Output) {
	b := p.boards.Board(in.Board)
	if b == nil || p.stage != running {
		return
	}
	reply := &BoardReply{Known: true, Sight: BoardView{p.spectated(b), !b.Watchable()}}
	switch {
	case in.UCI != "" && p.readOnly():
		reply.Status = predict.Limit
	case in.UCI != "":
		var row predict.Row
		row, reply.Status = p.audience.predictions.Submit(p.clock.now, predict.Submission{
			Session: in.Session, Token: in.Token, Board: b.ID(), On: b.Position(), UCI: in.UCI, Parent: in.Parent,
			Level: in.Level, Reads: in.Reads,
		}, &p.frame)
		if reply.Status == predict.Created {
			p.stats.Scores.Predictions++
		}
		if row.ID != 0 {
			reply.Rows = []predict.Row{row}
		}
		p.seal(out)
	case in.Limit > 0:
		reply.Rows = p.audience.predictions.Read(nil, b.ID(), in.Depth, min(in.Limit, wire.MaxRows))
	}
	out.BoardReply = reply
}

// askOtherShards asks the other shards about the board of a request that this shard does not have. It returns
// nil and done if none of them has it, and waits while they are being asked.
func (p *Profile) askOtherShards(r *request, ask BoardRequest, out *Output) (*BoardReply, verdict) {
	if p.shard.Of <= 1 || r.h.Board == 0 || p.boards.Recent(r.h.Board) != nil {
		return nil, done
	}
	if in := r.answerTo(OtherShardsOf); in != nil {
		if in.Answer == nil || in.Answer.Board == nil || !in.Answer.Board.Known {
			return nil, done
		}
		return in.Answer.Board, done
	}
	ask.Board, ask.Session, ask.Token = r.h.Board, r.session.ID(), r.h.Token
	return nil, p.ask(r, Load{Subject: OtherShardsOf, Token: r.h.Token, Ask: ask}, out)
}

// ShardMemory is what this shard has in memory of a session, or of the sessions of an identity; it is newer than
// the store. Another shard uses it for its answers.
type ShardMemory struct {
	Session  *wamble.Session // nil if it is not in memory
	Player   *wamble.Player  // the session's identity, or that of the key; nil if not in memory
	Sessions []wamble.Session
}

// InMemory returns what is in memory of a session or a key; either may be zero.
func (p *Profile) InMemory(id wamble.SessionID, key wamble.PublicKey) (k ShardMemory) {
	if s := p.sessions.ByID(id); s != nil {
		k.Session = &wamble.Session{
			ID: s.ID(), Token: s.Hash(), Created: p.clock.label(s.Created()), LastSeen: p.lastSeen(s),
		}
		if who := whoOf(s); !who.Key.IsZero() {
			key = who.Key
			k.Session.Player, k.Session.Key, k.Session.Handle = who.ID, key, s.Identity().Handle()
		}
	}
	if key.IsZero() {
		return k
	}
	if i := p.sessions.Identity(key); i != nil {
		k.Player = &wamble.Player{ID: i.ID(), Key: key, Handle: i.Handle()}
	}
	for _, s := range p.sessions.Of(key) {
		k.Sessions = append(k.Sessions, wamble.Session{
			ID: s.ID(), Token: s.Hash(), Key: key, Created: p.clock.label(s.Created()), LastSeen: p.lastSeen(s),
		})
	}
	return k
}

// Merge replaces parts of the answer to a load by what a shard has in memory. Totals are those of the store.
func (k *ShardMemory) Merge(l *Load, in *Loaded) {
	switch {
	case l.Subject == TargetOf && l.Session != 0 && k.Session != nil:
		if in.Session != nil {
			k.Session.Stats = in.Session.Stats
		}
		in.Outcome, in.Session = Found, k.Session
		fallthrough
	case l.Subject == TargetOf && k.Player != nil:
		if in.Answer == nil {
			in.Answer = &Answer{}
		}
		if k.Player != nil {
			if stored := in.Answer.Player; stored != nil {
				k.Player.Stats = stored.Stats
			}
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
