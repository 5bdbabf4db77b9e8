package play

import (
	"fmt"
	"strings"

	"wamble"
	"wamble/chess"
)

// Board is a board that the player holds or watches.
type Board struct {
	ID       wamble.BoardID
	Position chess.Position
	Chess960 bool
	// From and To are the squares of the last move, NoSquare if unknown.
	From, To chess.Square
	// Own is the last move that the player made here, in UCI; empty if none.
	Own string
	// Bot says that a bot made the last move, if the server tells.
	Bot bool
}

// ReadBoard reads a board from the server's FEN; an original server sends only the placement
// and the side to move.
func ReadBoard(id wamble.BoardID, fen string, chess960 bool) (*Board, error) {
	if strings.Count(fen, " ") == 1 {
		fen += " - - 0 1"
	}
	p, err := chess.ParseFEN(fen)
	if err != nil {
		return nil, fmt.Errorf("board %d: %w", id, err)
	}
	return &Board{ID: id, Position: p, Chess960: chess960, From: chess.NoSquare, To: chess.NoSquare}, nil
}

// Side returns the side to move, "White" or "Black". On the board that the player holds, that
// is the player's side.
func (b *Board) Side() string { return sideName(b.Position.Turn()) }

func sideName(c chess.Color) string {
	if c == chess.White {
		return "White"
	}
	return "Black"
}

// after returns the board after the player's move m.
func (b *Board) after(m chess.Move) *Board {
	return &Board{ID: b.ID, Position: b.Position.Play(m), Chess960: b.Chess960, From: m.From(), To: m.To(),
		Own: m.String()}
}

// moveTo returns the move that leads from b to next, in SAN; false if there is none, for
// example because several moves were made.
func (b *Board) moveTo(next *Board) (string, bool) {
	var buf [chess.MaxMoves]chess.Move
	for _, m := range b.Position.LegalMoves(buf[:0]) {
		if samePlacement(b.Position.Play(m), next.Position) {
			return b.Position.SAN(m), true
		}
	}
	return "", false
}

func samePlacement(a, b chess.Position) bool {
	for s := range chess.NoSquare {
		if a.PieceAt(s) != b.PieceAt(s) {
			return false
		}
	}
	return a.Turn() == b.Turn()
}

var kindNames = [...]string{chess.Pawn: "pawn", chess.Knight: "knight", chess.Bishop: "bishop", chess.Rook: "rook",
	chess.Queen: "queen", chess.King: "king"}

// Describe lists the pieces and their squares in two lines: "White: king g1, rooks a1 f1".
func Describe(p chess.Position) string {
	return describeSide(p, chess.White) + "\n" + describeSide(p, chess.Black)
}

func describeSide(p chess.Position, c chess.Color) string {
	var parts []string
	for kind := chess.King; kind >= chess.Pawn; kind-- {
		var squares []string
		for file := range 8 {
			for rank := range 8 {
				if s := chess.SquareAt(file, rank); p.PieceAt(s) == (chess.Piece{Kind: kind, Color: c}) {
					squares = append(squares, s.String())
				}
			}
		}
		if len(squares) == 0 {
			continue
		}
		name := kindNames[kind]
		if len(squares) > 1 {
			name += "s"
		}
		parts = append(parts, name+" "+strings.Join(squares, " "))
	}
	return sideName(c) + ": " + strings.Join(parts, ", ") + "."
}

// Greeting names the board and the player's side.
func (b *Board) Greeting() string {
	text := fmt.Sprintf("board %d, you are %s", b.ID, b.Side())
	if b.Chess960 {
		text += ", Chess960"
	}
	return text
}

// Facts returns what the pieces do not show: the move number, check, the last move, and a
// possible capture en passant.
func (b *Board) Facts() string {
	text := fmt.Sprintf("Move %d.", b.Position.FullmoveNumber())
	if b.Position.InCheck() {
		text += fmt.Sprintf(" %s is in check.", b.Side())
	}
	if last := b.LastMove(); last != "" {
		text += " " + last
	}
	if s := b.Position.EnPassant(); s != chess.NoSquare && b.canTakeOn(s) {
		text += fmt.Sprintf(" A pawn can be taken in passing on %s.", s)
	}
	return text
}

func (b *Board) canTakeOn(s chess.Square) bool {
	var buf [chess.MaxMoves]chess.Move
	for _, m := range b.Position.LegalMoves(buf[:0]) {
		if m.EnPassant() && m.To() == s {
			return true
		}
	}
	return false
}

// LastMove describes the last move; "" if it is unknown.
func (b *Board) LastMove() string {
	piece := b.Position.PieceAt(b.To)
	if !b.From.Valid() || piece.Kind == chess.None {
		return ""
	}
	by := ""
	if b.Bot {
		by = ", by a program"
	}
	return fmt.Sprintf("Last move: %s's %s %s to %s%s.", sideName(piece.Color), kindNames[piece.Kind], b.From, b.To, by)
}
