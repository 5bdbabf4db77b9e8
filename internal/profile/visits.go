package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
)

// visits are the stays of people at the boards, from the first board that they get until
// they leave or are gone. A visit sees the end of a game if that comes while it lasts,
// and the visitor has made a move in the game. Programs are no visitors.
type visits struct {
	of map[wamble.SessionID]visit
}

// visit is when it began, in microseconds; below zero after it has seen an end.
type visit int64

func (v visit) sawEnd() bool { return v < 0 }

// since returns when a visit began that has not seen an end yet.
func (v visit) since() time.Time { return time.UnixMicro(int64(v)) }

// spareVisits is how many visits there may be of players who hold no board, before they
// are looked for: they wait for a board, or have ended in a way that nobody told.
const spareVisits = 1024

// beginVisit notes that a player has got a board.
func (p *Profile) beginVisit(s *session.Session) {
	v := &p.visits
	if _, known := v.of[s.ID()]; known || s.Bot() {
		return
	}
	if v.of == nil {
		v.of = map[wamble.SessionID]visit{}
	}
	if len(v.of) > 2*p.boards.Here()+spareVisits {
		for id := range v.of {
			if !p.holds(id) && p.waitlist.place(id) == 0 {
				p.endVisit(id)
			}
		}
	}
	v.of[s.ID()] = visit(p.clock.now.UnixMicro())
}

// endVisit notes that a player has left, or is gone.
func (p *Profile) endVisit(id wamble.SessionID) {
	if v, ok := p.visits.of[id]; ok {
		p.stats.Deals.Visits++
		p.stats.Deals.SawEnd += one(v.sawEnd())
		delete(p.visits.of, id)
	}
}

// visitorsSee notes that those who have moved in a game during their visit see its end.
func (p *Profile) visitorsSee(f *board.Finished) {
	for m := range f.Board.Moves() {
		if v, ok := p.visits.of[m.Session]; ok && !v.sawEnd() && !m.At.Before(v.since()) {
			p.visits.of[m.Session] = -v
		}
	}
}
