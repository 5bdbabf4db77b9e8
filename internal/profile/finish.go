package profile

import (
	"wamble"
	"wamble/internal/board"
	"wamble/internal/reward"
	"wamble/internal/session"
	"wamble/wire"
)

// finished handles a game that has ended: visitors, predictions, rewards. The board has left the pool. Its
// result is in the open frame, to which payouts and ratings are added.
func (p *Profile) finished(f *board.Finished, out *Output) {
	p.stats.Finished++
	if p.shard.Of > 1 {
		durableIndex := out.DurableIndex
		if durableIndex == 0 {
			durableIndex = p.watermarks.newest + 1
		}
		p.transfers.note(f.Board.ID(), durableIndex) // it may be an arrival that was never acknowledged
	}
	p.visitorsSee(f)
	p.expire(f.Board.ID())
	out.Finished = append(out.Finished, f)
	p.reward(f, out)
}

// endOver ends games that were over when they were restored, at most balanceAtOnce in each step.
func (p *Profile) endOver(out *Output) {
	for range balanceAtOnce {
		if p.boards.Over() == nil {
			return
		}
		p.finished(p.boards.EndOver(p.clock.now, &p.frame), out)
		p.seal(out)
		p.notifyWinners(out)
	}
}

// rewards is prizes of which players were not notified yet, and buffers for the end of a game.
type rewards struct {
	ledger       reward.Ledger
	prizes       reward.Prizes
	contributors []board.Contributor
	players      []reward.Player
	winners      []winner // of the last game, notified once it is sealed
	text         []byte
}

// winner is a session in memory that a game brought points.
type winner struct {
	session *session.Session
	board   wamble.BoardID
	points  float64
}

// reward divides the pot of a game among its players, and changes their ratings. Rating and identity of a
// player whose session is in memory are read there; those of other players were stored with the board.
func (p *Profile) reward(f *board.Finished, out *Output) {
	w, scoring := &p.rewards, &p.cfg.Scoring
	w.contributors = f.Board.Contributors(w.contributors[:0], scoring.MaxContributors)
	w.players = w.players[:0]
	for i := range w.contributors {
		c := &w.contributors[i]
		player := reward.Player{
			Session: c.Session, White: c.White, Black: c.Black, Rating: c.Rating, Rated: c.Rated, Number: c.Player,
		}
		if s := p.sessions.ByID(c.Session); s != nil {
			who := whoOf(s)
			player.Rated, player.Rating = s.Identity() != nil, p.sessions.Rating(s)
			player.Key, player.Number = who.Key, board.Number(who.ID)
		} else if !c.Rated {
			player.Rating = float64(scoring.DefaultRating)
		}
		w.players = append(w.players, player)
	}
	game := reward.Game{Board: f.Board.ID(), Result: f.Result, At: f.At, Pot: scoring.MaxPot, K: scoring.KFactor}
	payouts, ratings := w.ledger.Finish(game, w.players, &p.frame)
	p.stats.Scores.Payouts += uint64(payouts)
	p.stats.Scores.Ratings += uint64(ratings)
	for i := range w.players {
		won := &w.players[i]
		event := StoreEvent{What: Won, Session: won.Session, Key: won.Key, Points: won.Points}
		if won.Rated {
			event.Rating = won.Change
			p.sessions.Rate(won.Session, won.Key, won.Change)
		}
		s := p.sessions.ByID(won.Session)
		if p.shard.Of > 1 {
			event.Board, event.Profile = f.Board.ID(), p.cfg.Name
			if s == nil {
				event.Moved = p.clock.label(lastMoved(f.Board, won.Session))
			}
		}
		if event.Rating != 0 || event.Board != 0 && (event.Points != 0 || !event.Moved.IsZero()) {
			out.StoreEvents = append(out.StoreEvents, event)
		}
		if s != nil && won.Points != 0 {
			w.winners = append(w.winners, winner{s, f.Board.ID(), won.Points})
		}
	}
}

// notifyWinners notifies winners who are here. The game must be sealed before.
func (p *Profile) notifyWinners(out *Output) {
	w := &p.rewards
	for _, won := range w.winners {
		if p.isActive(won.session) {
			p.award(won.session, won.board, won.points, out)
		}
	}
	clear(w.winners)
	w.winners = w.winners[:0]
}

// award notifies a player of points, at once or together with later ones.
func (p *Profile) award(s *session.Session, board wamble.BoardID, points float64, out *Output) {
	if prize := p.rewards.prizes.Win(s.ID(), board, points); prize != nil {
		p.notifyPrize(prize, s, out)
	}
}

// notifyPrizes notifies players whose next notice is due, and drops entries without new points.
func (p *Profile) notifyPrizes(out *Output) {
	prizes := &p.rewards.prizes
	for prize, due := prizes.Due(p.clock.since); due; prize, due = prizes.Due(p.clock.since) {
		if s := p.sessions.ByID(prize.Session); s != nil && !prize.IsEmpty() && p.isActive(s) {
			p.notifyPrize(prize, s, out)
		} else {
			prizes.Forget(prize)
		}
	}
}

func (p *Profile) notifyPrize(prize *reward.Prize, s *session.Session, out *Output) {
	w := &p.rewards
	w.text = prize.AppendText(w.text[:0])
	p.notify(s.Token(), prize.Board, wire.ServerNotification{Type: wire.NoticePotPayout, Text: w.text}, out)
	w.prizes.Sent(p.clock.since, prize)
}
