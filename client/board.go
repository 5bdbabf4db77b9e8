package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wamble"
	"wamble/wire"
)

// Board is a board as sent by the server.
type Board struct {
	ID wamble.BoardID
	// FEN is the whole position if the server sends it, else only the placement and the side to
	// move: "8/8/8/8/8/8/8/8 w".
	FEN      string
	Chess960 bool
	// Version grows with every change of the board; 0 if the server does not send it.
	Version int64
	// ReservedAt is when the board was reserved for the player; zero if the server does not
	// send it.
	ReservedAt time.Time
	// LastMove has the squares of the last move, or is nil.
	LastMove *Squares
	// OwnMove is the last move that the player made on this board, in UCI notation; empty if
	// there is none, or the server does not send it.
	OwnMove string
	// Bot says that a bot made the last move. It is set for watched boards only.
	Bot bool
	// WaitPlace is over 0 if all boards are held and the player has none: it is their place in
	// the queue. The board then arrives as an Event.
	WaitPlace int64
}

// Squares are the origin and target of a move: 0 is a1, 7 is h1, 63 is h8.
type Squares struct{ From, To uint8 }

// boardOf reads a packet with a board.
func boardOf(p *wire.Packet, fen wire.Text) Board {
	b := Board{ID: p.Board, FEN: fen.String(), Chess960: p.Flags&wire.FlagBoardIs960 != 0}
	if full, ok := p.Ext.Text(wire.KeyBoardFEN); ok {
		b.FEN = full
	}
	b.Version, _ = p.Ext.Int(wire.KeyBoardVersion)
	b.OwnMove, _ = p.Ext.Text(wire.KeyBoardOwnMove)
	b.WaitPlace, _ = p.Ext.Int(wire.KeyWaitPlace)
	bot, _ := p.Ext.Int(wire.KeyBoardBot)
	b.Bot = bot == 1
	if at, ok := p.Ext.Int(wire.KeyReservationReservedAt); ok {
		b.ReservedAt = time.Unix(at, 0)
	}
	from, ok1 := p.Ext.Int(wire.KeyLastMoveFrom)
	to, ok2 := p.Ext.Int(wire.KeyLastMoveTo)
	if ok1 && ok2 && 0 <= from && from < 64 && 0 <= to && to < 64 {
		b.LastMove = &Squares{uint8(from), uint8(to)}
	}
	return b
}

// pliesOf returns how many moves precede the position of a complete FEN.
func pliesOf(fen string) (n int64, ok bool) {
	fields := strings.Fields(fen)
	if len(fields) != 6 {
		return 0, false
	}
	number, err := strconv.ParseInt(fields[5], 10, 32)
	if n = 2 * (number - 1); fields[1] == "b" {
		n++
	}
	return n, err == nil && n >= 0
}

// Play plays a move (UCI notation, such as e2e4 or e7e8q) on the board that the player holds,
// and returns the board that they are switched to. A refusal is a *wamble.Denied, with the code
// wamble.MoveRejected or another.
//
// If the connection breaks before the answer, the move is sent again after the session is
// resumed. A server of this project then answers as if nothing had happened; with other servers
// the result may be ErrUncertain.
func (c *Client) Play(ctx context.Context, uci string) (Board, error) {
	return c.PlayOn(ctx, c.Board().ID, uci)
}

// PlayOn is Play on a given board, in case the player's board changes before the call.
func (c *Client) PlayOn(ctx context.Context, board wamble.BoardID, uci string) (Board, error) {
	move, err := wire.MakeUCI(uci)
	if err != nil {
		return Board{}, fmt.Errorf("move %q: %w", uci, err)
	}
	var ext []wire.Field
	if b := c.Board(); b.ID == board {
		if n, ok := pliesOf(b.FEN); ok {
			ext = []wire.Field{wire.Int(wire.KeyBoardPly, n)}
		}
	}
	return ask(ctx, c, wire.Header{Board: board}, wire.PlayerMove{UCI: move},
		func(p *wire.Packet, m *wire.BoardUpdate) (Board, bool) {
			c.prefer(p)
			return c.adopt(p, m.FEN, c.Token()), true
		}, ext...)
}

// Thinking tells the server that the player is thinking, so that they keep their board. Call it
// about every 30 s while someone is at the board and no other request is made. It has no
// answer.
func (c *Client) Thinking(ctx context.Context) error { return tell(ctx, c, wire.Ack{}) }

// LegalMoves requests the moves of the piece on a square (0 is a1, 63 is h8) of a board. There
// are none if the board is not the player's.
func (c *Client) LegalMoves(ctx context.Context, board wamble.BoardID, square uint8) ([]wire.LegalMove, error) {
	return c.legalMoves(ctx, wire.Header{Board: board}, square)
}

// PredictableMoves requests the moves that may be predicted on a board, for the piece on a
// square.
func (c *Client) PredictableMoves(ctx context.Context, board wamble.BoardID, square uint8) ([]wire.LegalMove, error) {
	return c.legalMoves(ctx, wire.Header{Board: board, Flags: wire.FlagPredictionContext}, square)
}

func (c *Client) legalMoves(ctx context.Context, h wire.Header, square uint8) ([]wire.LegalMove, error) {
	return ask(ctx, c, h, wire.GetLegalMoves{Square: square},
		func(p *wire.Packet, m *wire.LegalMoves) ([]wire.LegalMove, bool) {
			return append([]wire.LegalMove(nil), m.Moves...), p.Board == h.Board && m.Square == square
		})
}

// Reservation is a board that the player's identity holds.
type Reservation struct {
	Board               wamble.BoardID
	Profile             string
	ReservedAt, Expires time.Time
	Available           bool // this server serves the profile
}

// Reservations requests all boards that the player's identity holds, in all profiles. There are
// none without an identity.
func (c *Client) Reservations(ctx context.Context) ([]Reservation, error) {
	return ask(ctx, c, wire.Header{}, wire.GetActiveReservations{},
		func(_ *wire.Packet, m *wire.ActiveReservationsData) ([]Reservation, bool) {
			var rows []Reservation
			for _, r := range m.Rows {
				rows = append(rows, Reservation{
					Board: wamble.BoardID(r.Board), Profile: r.Profile.String(), Available: r.Available,
					ReservedAt: time.Unix(int64(r.ReservedAt), 0), Expires: time.Unix(int64(r.ExpiresAt), 0),
				})
			}
			return rows, true
		})
}
