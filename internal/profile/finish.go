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
		p.retainGainers()
		p.notifyWinners(out)
	}
}

// rewards is prizes of which players were not notified yet, and buffers for the end of a game.
type rewards struct {
	ledger        reward.Ledger
	prizes        reward.Prizes
	contributors  []board.Contributor
	players       []reward.Player
	winners       []winner           // of the last game, notified once it is sealed
	absentWinners []wamble.SessionID // won something in it and are not in memory
	text          []byte
}

// winner is a session in memory that a game brought points or a change of rating.
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
			player.Rated, player.Rating = s.Identity() != nil, p.sessions.Stats(s).Rating
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
		won := wamble.Stats{Score: w.players[i].Points}
		if w.players[i].Rated {
			won.Rating = w.players[i].Change
		}
		s := p.sessions.ByID(w.players[i].Session)
		event := StoreEvent{What: Credited, Session: w.players[i].Session, Key: w.players[i].Key, Won: won}
		if p.shard.Of > 1 {
			event.Board, event.Profile = f.Board.ID(), p.cfg.Name
			if s == nil {
				event.Moved = p.clock.label(lastMoved(f.Board, event.Session))
			}
		}
		if won == (wamble.Stats{}) && event.Moved.IsZero() {
			continue
		}
		out.StoreEvents = append(out.StoreEvents, event)
		if won == (wamble.Stats{}) {
			continue
		}
		if s != nil {
			s.Count(won)
			w.winners = append(w.winners, winner{s, f.Board.ID(), won.Score})
		} else {
			w.absentWinners = append(w.absentWinners, w.players[i].Session)
		}
	}
}

// notifyWinners notifies winners who are here, and keeps all winners in memory until the store has their
// rewards. The game must be sealed before.
func (p *Profile) notifyWinners(out *Output) {
	w := &p.rewards
	for _, won := range w.winners {
		p.sessions.Wrote(won.session, p.watermarks.newest)
		if won.points != 0 && p.isActive(won.session) {
			p.award(won.session, won.board, won.points, out)
		}
	}
	for _, id := range w.absentWinners {
		p.pendingRewards.add(id, p.watermarks.newest)
	}
	clear(w.winners)
	w.winners, w.absentWinners = w.winners[:0], w.absentWinners[:0]
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
	w.prizes.Told(p.clock.since, prize)
}
