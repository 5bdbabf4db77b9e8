package play

import (
	"fmt"
	"time"

	"wamble"
	"wamble/chess"
)

// Step is one move of the player's trail.
type Step struct {
	Board wamble.BoardID `json:"board"`
	UCI   string         `json:"uci"`
	SAN   string         `json:"san"`
	Ply   int            `json:"ply"` // ply of the move, from 1
	At    time.Time      `json:"at"`
	Fate  Fate           `json:"fate,omitempty"`
	Reply string         `json:"reply,omitempty"` // answer in SAN
	Since int            `json:"since,omitempty"` // number of moves made after it
	Paid  string         `json:"paid,omitempty"`  // points that the board has paid
}

// Fate is the outcome of a move.
type Fate string

// The fates. Waits is the fate of a move without a known answer.
const (
	Waits     Fate = ""
	Answered  Fate = "answered"
	Won       Fate = "won"
	Lost      Fate = "lost"
	Drawn     Fate = "drawn"
	NotPlayed Fate = "not played"
)

// Over reports whether the fate is final.
func (f Fate) Over() bool { return f != Waits && f != Answered }

// The number of moves that a trail keeps, and of those whose outcome is requested.
const (
	maxSteps   = 200
	looksAfter = 24
)

// Outcome returns the outcome of the move in words.
func (s *Step) Outcome() string {
	switch s.Fate {
	case Waits:
		return "waits for an answer"
	case Answered:
		return "answered " + s.Reply
	case Won:
		if s.Paid != "" {
			return "won, +" + s.Paid
		}
	case NotPlayed:
		return "was not played"
	}
	return string(s.Fate)
}

// String returns the step in words: "Nf3 on board 12: answered Nc6".
func (s *Step) String() string { return fmt.Sprintf("%s on board %d: %s", s.SAN, s.Board, s.Outcome()) }

// Record is the server's record of the game on a board.
type Record struct {
	Board    wamble.BoardID
	Chess960 int      // number of the start position; -1 on a classical board
	Moves    []string // UCI
	Winner   string   // "white", "black", "draw", or "" while the game goes on
}

// settle sets the outcome of a move from the record of its game.
func (s *Step) settle(r *Record) {
	if s.Ply < 1 || len(r.Moves) < s.Ply {
		return // the record is older than the move
	}
	if r.Moves[s.Ply-1] != s.UCI {
		s.Fate = NotPlayed
		return
	}
	s.Since = len(r.Moves) - s.Ply
	p := chess.Start()
	if r.Chess960 >= 0 {
		var err error
		if p, err = chess.Chess960(r.Chess960); err != nil {
			return
		}
	}
	for i, uci := range r.Moves[:min(s.Ply+1, len(r.Moves))] {
		m, err := p.ParseUCI(uci)
		if err != nil {
			return
		}
		if i == s.Ply {
			s.Fate, s.Reply = Answered, p.SAN(m)
		}
		p = p.Play(m)
	}
	mine := "black"
	if s.Ply%2 == 1 {
		mine = "white"
	}
	switch r.Winner {
	case "":
	case "draw":
		s.Fate = Drawn
	case mine:
		s.Fate = Won
	default:
		s.Fate = Lost
	}
}

// remember adds a move to the trail.
func (g *Game) remember(s Step) {
	g.Trail = append([]Step{s}, g.Trail[:min(len(g.Trail), maxSteps-1)]...)
}

// Follow requests the game on one open board of the trail, each time another one.
func (g *Game) Follow() []Effect {
	if open := g.Open(); len(open) > 0 && !g.Offline {
		g.followed++
		g.do(Look{Boards: open[g.followed%len(open):][:1]})
	}
	return g.flush()
}

// Open returns the boards of the trail whose games may go on, newest first.
func (g *Game) Open() []wamble.BoardID {
	var list []wamble.BoardID
	seen := map[wamble.BoardID]bool{}
	for _, s := range g.Trail[:min(len(g.Trail), looksAfter)] {
		if !s.Fate.Over() && s.Ply > 0 && !seen[s.Board] {
			seen[s.Board] = true
			list = append(list, s.Board)
		}
	}
	return list
}
