package profile

import (
	"fmt"
	"slices"

	"wamble"
	"wamble/chess"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/wire"
)

// judge is the simple reference: it reads what became durable, in order, and applies the
// rules of the game and of the configuration, independently of the implementation.
type judge struct {
	games  map[wamble.BoardID]*game
	holds  map[wamble.SessionID]wamble.BoardID
	tokens map[wamble.TokenHash]wamble.SessionID
	shown  map[shownKey]shownBoard // every reservation that ever was
	moves  map[moveKey]int
	from   map[moveKey][]string // the positions in which they were made
	ended  int
	lastly map[wamble.BoardID]uint64 // version
	scores
	foresight
	places
}

type game struct {
	position chess.Position
	holder   wamble.SessionID
	movers   []wamble.SessionID // by ply
	over     bool
	last     string // move
}

type shownKey struct {
	board   wamble.BoardID
	version uint64
}

type shownBoard struct {
	fen    string
	holder wamble.SessionID
	number int // of the reservation, from 1
}

type moveKey struct {
	board   wamble.BoardID
	session wamble.SessionID
	uci     string
}

func newJudge(c *config.Profile) *judge {
	return &judge{
		scores: newScores(c), foresight: newForesight(), places: newPlaces(),
		games: map[wamble.BoardID]*game{}, holds: map[wamble.SessionID]wamble.BoardID{},
		tokens: map[wamble.TokenHash]wamble.SessionID{}, shown: map[shownKey]shownBoard{},
		moves: map[moveKey]int{}, from: map[moveKey][]string{}, lastly: map[wamble.BoardID]uint64{},
	}
}

// frame reads one frame; the error names the rule that it breaks.
func (j *judge) frame(b []byte) error {
	intents, err := journal.Decode(b)
	if err != nil {
		return err
	}
	for _, in := range intents {
		err := j.placed(in)
		if err == nil {
			err = j.intent(in)
		}
		if err != nil {
			return fmt.Errorf("%v %+v: %w", in.Kind(), in, err)
		}
	}
	return j.settle()
}

func (j *judge) intent(in intent.Intent) error {
	switch in := in.(type) {
	case *intent.CreateSession:
		if in.Token.IsZero() || j.tokens[in.Token] != 0 {
			return fmt.Errorf("the token is not new")
		}
		j.tokens[in.Token] = in.Session
	case *intent.CreateBoard:
		position, err := chess.ParseFEN(in.FEN)
		if err != nil || j.games[in.Board] != nil {
			return fmt.Errorf("the board is not new: %v", err)
		}
		j.games[in.Board] = &game{position: position}
		j.boards++
	case *intent.RecordMove:
		return j.move(in)
	case *intent.RecordPrediction:
		return j.predicted(in)
	case *intent.ResolvePrediction:
		return j.resolved(in)
	case *intent.UpdateBoard:
		g := j.games[in.Board]
		if g == nil || in.FEN != g.position.FEN() {
			return fmt.Errorf("that is not how the board stands")
		}
		if in.Version <= j.lastly[in.Board] {
			return fmt.Errorf("after version %d", j.lastly[in.Board])
		}
		j.lastly[in.Board] = in.Version
		j.fens[shownKey{in.Board, in.Version}] = wire.ShortFEN(in.FEN)
		g.over = in.Status == wamble.Archived
	case *intent.CreateReservation:
		g := j.games[in.Board]
		if g == nil || g.over || g.holder != 0 || j.holds[in.Session] != 0 {
			return fmt.Errorf("held by %d, who holds %d", g.holder, j.holds[in.Session])
		}
		if in.White != (g.position.Turn() == chess.White) {
			return fmt.Errorf("the holder is not to move")
		}
		g.holder, j.holds[in.Session] = in.Session, in.Board
		j.shown[shownKey{in.Board, j.lastly[in.Board]}] = shownBoard{g.position.FEN(), in.Session, len(j.shown) + 1}
	case *intent.RemoveReservation:
		g := j.games[in.Board]
		delete(j.holds, g.holder)
		g.holder = 0
	case *intent.RecordGameResult:
		g := j.games[in.Board]
		if !g.over || len(g.movers) != in.Plies {
			return fmt.Errorf("the game is not over, or has other moves")
		}
		j.ended++
		j.boards--
		j.finals = append(j.finals, &final{board: in.Board, result: in.Result, movers: g.movers,
			points: map[wamble.SessionID]float64{}, changes: map[wamble.SessionID]float64{}})
	case *intent.RecordPayout, *intent.RecordRating:
		return j.scores.intent(in)
	}
	return nil
}

// made reports whether a session has moved on a board in this version: a move without a
// replacement is answered by its own board.
func (j *judge) made(id wamble.BoardID, by wamble.SessionID, version uint64, fen string) bool {
	g := j.games[id]
	return g != nil && slices.Contains(g.movers, by) && j.fens[shownKey{id, version}] == wire.ShortFEN(fen)
}

func (j *judge) move(in *intent.RecordMove) error {
	g := j.games[in.Board]
	if g == nil || g.over || g.holder != in.Session {
		return fmt.Errorf("not by the holder")
	}
	m, err := g.position.ParseUCI(in.UCI)
	if err != nil || in.Ply != len(g.movers)+1 {
		return fmt.Errorf("after %d plies: %v", len(g.movers), err)
	}
	key := moveKey{in.Board, in.Session, in.UCI}
	j.moves[key]++
	j.from[key] = append(j.from[key], wire.ShortFEN(g.position.FEN()))
	g.position = g.position.Play(m)
	g.movers, g.last = append(g.movers, in.Session), in.UCI
	return nil
}
