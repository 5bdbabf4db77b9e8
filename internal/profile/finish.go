package profile

import (
	"strconv"
	"strings"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/score"
	"wamble/internal/session"
)

// finished is the one place where a finished game meets the other rooms. The
// board has left the pool, and its result is in the draft of this request; what
// it is worth goes there, too.
func (p *Profile) finished(f *board.Finished, out *Output) {
	p.stats.Finished++
	p.expire(f.Board.ID())
	out.Finished = append(out.Finished, f)
	p.reward(f)
}

// rewards is the memory for the end of a game.
type rewards struct {
	contributors []board.Contributor
	players      []score.Player
	winners      []winner // of the last game; told when it is sealed
	rated        map[*session.Identity]int
	changes      []change
	payout       intent.RecordPayout
	rating       intent.RecordRating
}

// winner is a session in memory that a game brought something.
type winner struct {
	session *session.Session
	board   wamble.BoardID
	points  float64
}

// change is by how much a game changes the rating of one player.
type change struct {
	session wamble.SessionID
	key     wamble.PublicKey // zero: his session is not in memory
	delta   float64
}

// scoringOf is what score needs of the options.
func scoringOf(c *config.Profile) (pot, k float64, most int) {
	return c.Scoring.MaxPot, c.Scoring.KFactor, c.Scoring.MaxContributors
}

// reward shares the pot of a game among its players, and changes their ratings.
// Of a player whose session is in memory all is known; of the others the board
// knows enough.
func (p *Profile) reward(f *board.Finished) {
	pot, k, most := scoringOf(p.cfg)
	w := &p.scratch.rewards
	w.contributors = f.Board.Contributors(w.contributors[:0], most)
	w.players = w.players[:0]
	for i := range w.contributors {
		c := &w.contributors[i]
		player := score.Player{White: c.White, Black: c.Black, Rating: c.Rating}
		if s := p.sessions.ByID(c.Session); s != nil {
			c.Rated, player.Rating = s.Identity() != nil, p.sessions.Stats(s).Rating
		} else if !c.Rated {
			player.Rating = float64(p.cfg.Scoring.DefaultRating)
		}
		w.players = append(w.players, player)
	}
	score.Share(pot, f.Result, w.players)
	score.Rate(k, f.Result, w.players)
	p.payOut(f)
	p.changeRatings(f)
}

// payOut writes down the points of a game.
func (p *Profile) payOut(f *board.Finished) {
	w := &p.scratch.rewards
	for i := range w.contributors {
		id, points := w.contributors[i].Session, w.players[i].Points
		if points == 0 {
			continue
		}
		w.payout = intent.RecordPayout{Board: f.Board.ID(), Session: id, Points: points, Canonical: points, At: f.At}
		p.draft.Add(&w.payout)
		p.stats.Scores.Payouts++
		if s := p.sessions.ByID(id); s != nil {
			s.Count(wamble.Stats{Score: points})
			w.winners = append(w.winners, winner{s, f.Board.ID(), points})
		}
	}
}

// changeRatings writes down one change for each player who has a rating, though
// he may have played in several sessions.
func (p *Profile) changeRatings(f *board.Finished) {
	w := &p.scratch.rewards
	w.changes = w.changes[:0]
	for i := range w.contributors {
		c, delta := &w.contributors[i], w.players[i].Change
		if !c.Rated || delta == 0 {
			continue
		}
		s := p.sessions.ByID(c.Session)
		if s == nil {
			w.changes = append(w.changes, change{session: c.Session, delta: delta})
			continue
		}
		s.Count(wamble.Stats{Rating: delta})
		w.winners = append(w.winners, winner{session: s}) // it stays until the store has this
		if w.rated == nil {
			w.rated = map[*session.Identity]int{}
		}
		at, known := w.rated[s.Identity()]
		if !known {
			at = len(w.changes)
			w.rated[s.Identity()] = at
			w.changes = append(w.changes, change{session: c.Session, key: s.Identity().Key()})
		}
		w.changes[at].delta += delta
	}
	clear(w.rated)
	for _, c := range w.changes {
		w.rating = intent.RecordRating{Board: f.Board.ID(), Session: c.session, Key: c.key, Delta: c.delta, At: f.At}
		p.draft.Add(&w.rating)
		p.stats.Scores.Ratings++
	}
}

// congratulate tells those who are here what they won. What was decided must be
// sealed.
func (p *Profile) congratulate(out *Output) {
	w := &p.scratch.rewards
	for _, won := range w.winners {
		p.sessions.Wrote(won.session, p.gates.last)
		if won.points == 0 || !p.isHere(won.session) {
			continue
		}
		p.award(won.session, won.board, won.points, out)
	}
	clear(w.winners)
	w.winners = w.winners[:0]
}

// appendPoints writes points as the stores keep them: with up to four decimals.
func appendPoints(dst []byte, points float64) []byte {
	text := strings.TrimRight(strconv.FormatFloat(points, 'f', 4, 64), "0")
	return append(dst, strings.TrimSuffix(text, ".")...)
}
