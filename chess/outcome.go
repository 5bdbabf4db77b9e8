package chess

// Result is the result of a game.
type Result uint8

// The results.
const (
	InProgress Result = iota
	WhiteWins
	BlackWins
	Draw
)

var resultTexts = [...]string{InProgress: "*", WhiteWins: "1-0", BlackWins: "0-1", Draw: "1/2-1/2"}

// String returns the result as PGN writes it: "*", "1-0", "0-1", "1/2-1/2".
func (r Result) String() string {
	if int(r) >= len(resultTexts) {
		return "?"
	}
	return resultTexts[r]
}

// Reason is why a game is over.
type Reason uint8

// The reasons. Ongoing is the reason of a game in progress.
const (
	Ongoing Reason = iota
	Checkmate
	Stalemate
	FiftyMoves
	InsufficientMaterial
	FivefoldRepetition
)

var reasonTexts = [...]string{
	Ongoing:              "in progress",
	Checkmate:            "checkmate",
	Stalemate:            "stalemate",
	FiftyMoves:           "50 moves without capture or pawn move",
	InsufficientMaterial: "insufficient material",
	FivefoldRepetition:   "fivefold repetition",
}

// String returns a short English text.
func (r Reason) String() string {
	if int(r) >= len(reasonTexts) {
		return "unknown"
	}
	return reasonTexts[r]
}

// Outcome is a result and its reason. The zero Outcome is a game in progress.
type Outcome struct {
	Result Result
	Reason Reason
}

// Over reports whether the game is finished.
func (o Outcome) Over() bool { return o.Result != InProgress }

// Outcome returns whether the game is over and why. The game ends without a claim by a player,
// also after 50 moves by each side without capture or pawn move. Checkmate and stalemate
// precede every other reason. History must end with p; if it is nil, repetitions are not
// counted.
func (p *Position) Outcome(h History) Outcome {
	switch {
	case !p.board.movable(epSet(p.epFile)):
		return p.ended()
	case p.board.insufficient():
		return Outcome{Draw, InsufficientMaterial}
	case h.Repetitions() >= 5:
		return Outcome{Draw, FivefoldRepetition}
	case p.halfmoves >= 100:
		return Outcome{Draw, FiftyMoves}
	}
	return Outcome{}
}

// ended returns the outcome of a position without legal moves.
func (p *Position) ended() Outcome {
	switch {
	case !p.InCheck():
		return Outcome{Draw, Stalemate}
	case p.turn == White:
		return Outcome{BlackWins, Checkmate}
	}
	return Outcome{WhiteWins, Checkmate}
}

// insufficient reports whether the material makes mate impossible: only kings, one knight or
// one bishop in all, or only bishops on squares of one colour.
func (b board) insufficient() bool {
	if b.pawns()|b.straight() != 0 {
		return false
	}
	knights, bishops := b.knights(), b.diagonal()
	if knights != 0 {
		return bishops == 0 && knights&(knights-1) == 0
	}
	return bishops&darkSquares == 0 || bishops&^darkSquares == 0
}
