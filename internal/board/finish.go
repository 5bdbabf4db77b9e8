package board

import (
	"iter"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
)

// Finished is a game that is over. Its board has left the pool and does not change any more; its moves and
// contributors can still be read.
type Finished struct {
	Board    *Board
	Result   wamble.Result
	Reason   string // at most 31 bytes
	Plies    int
	Duration time.Duration // since the board was made; 0 if the clock was set back meanwhile
	At       time.Time
}

// ending is a result and its reason in words.
type ending struct {
	result wamble.Result
	reason string
}

// reasons are the words in which reasons are stored.
var reasons = [...]string{
	chess.Checkmate:            "checkmate",
	chess.Stalemate:            "stalemate",
	chess.FiftyMoves:           "fifty-move rule",
	chess.InsufficientMaterial: "insufficient material",
	chess.FivefoldRepetition:   "fivefold repetition",
}

const (
	reasonMaxMoves = "move limit"
	reasonArchived = "archived by the host"
)

var results = [...]wamble.Result{
	chess.WhiteWins: wamble.WhiteWins,
	chess.BlackWins: wamble.BlackWins,
	chess.Draw:      wamble.Draw,
}

// ending returns how the game of a board has ended, nil if it goes on.
func (p *Pool) ending(b *Board) *ending {
	if o := b.position.Outcome(b.history); o.Over() {
		return &ending{results[o.Result], reasons[o.Reason]}
	}
	if p.opts.MaxMoves > 0 && b.position.Ply() >= p.opts.MaxMoves {
		return &ending{wamble.Draw, reasonMaxMoves}
	}
	return nil
}

// archive removes a board that is neither free nor held from the pool.
func (p *Pool) archive(at int64, b *Board, e ending, out intent.Intents) *Finished {
	p.remove(b)
	b.status = wamble.Archived
	p.finished.add(b)
	f := &Finished{
		Board: b, Result: e.result, Reason: e.reason, Plies: b.position.Ply(),
		Duration: spanOf(max(0, at-b.times.created)), At: timeOf(at),
	}
	p.update(at, b, out)
	p.removeReservation(at, b, out)
	p.intents.result = intent.RecordGameResult{
		Board: b.id, Result: f.Result, Plies: f.Plies, Duration: f.Duration, Reason: f.Reason, At: f.At,
	}
	out.Add(&p.intents.result)
	return f
}

// Archive ends a game as a draw, by the host's command. It returns the holder of the board, 0 if it was
// free. Errors: ErrUnknownBoard.
func (p *Pool) Archive(now time.Time, id wamble.BoardID, out intent.Intents) (*Finished, wamble.SessionID, error) {
	t := p.tick(now)
	b := p.boards[id]
	if b == nil {
		return nil, 0, ErrUnknownBoard
	}
	holder := b.holder
	if b.asleep {
		p.wake(b)
	}
	if p.isFree(b) {
		p.setHeld(b)
	} else {
		p.clearHolder(b)
	}
	return p.archive(t, b, ending{wamble.Draw, reasonArchived}, out), holder, nil
}

// recentBoards is how many finished or sent boards the pool remembers.
const recentBoards = 1024

// recent is a ring of the boards that were last finished or sent, for Repeats.
type recent struct {
	ring []*Board
	next int
	byID map[wamble.BoardID]*Board
}

// Finished returns the last recentBoards that were finished or sent.
func (p *Pool) Finished() iter.Seq[*Board] { return slices.Values(p.finished.ring) }

func (r *recent) add(b *Board) {
	if r.byID == nil {
		r.byID = map[wamble.BoardID]*Board{}
	}
	if len(r.ring) < recentBoards {
		r.ring = append(r.ring, b)
	} else {
		delete(r.byID, r.ring[r.next].id)
		r.ring[r.next] = b
		r.next = (r.next + 1) % recentBoards
	}
	r.byID[b.id] = b
}
