package chess_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"wamble/chess"
)

// A position is a value: playing a move gives the next one.
func Example() {
	p := chess.Start()
	for _, uci := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		m, err := p.ParseUCI(uci)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(p.SAN(m), " ")
		p = p.Play(m)
	}
	o := p.Outcome(nil)
	fmt.Println(o.Result, o.Reason)
	fmt.Println(p.FEN())
	// Output:
	// f3 e5 g4 Qh4# 0-1 checkmate
	// rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3
}

// The error of a move distinguishes nonsense from an illegal move.
func ExamplePosition_ParseUCI() {
	p := chess.Start()
	for _, uci := range []string{"e2e4", "e2e5", "e2e4xx", "e2e9"} {
		_, err := p.ParseUCI(uci)
		var malformed *chess.ParseError
		switch {
		case err == nil:
			fmt.Println(uci, "is legal")
		case errors.Is(err, chess.ErrIllegal):
			fmt.Println(uci, "is illegal")
		case errors.As(err, &malformed):
			fmt.Println(uci, "is wrong", malformed)
		}
	}
	// Output:
	// e2e4 is legal
	// e2e5 is illegal
	// e2e4xx is wrong at offset 5: a move has 4 or 5 characters, this one has 6
	// e2e9 is wrong at offset 3: '9' is not one of 1–8
}

// With capacity for the moves nothing is allocated.
func ExamplePosition_LegalFrom() {
	var room [chess.MaxMoves]chess.Move
	square, err := chess.ParseSquare("g1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range chess.Start().LegalFrom(room[:0], square) {
		fmt.Println(m)
	}
	// Output:
	// g1f3
	// g1h3
}

func ExampleParseFEN() {
	_, err := chess.ParseFEN("4k3/8/8/8/8/8/8/4K2R w KQ - 0 1")
	fmt.Println(err)
	p, err := chess.ParseFEN("1r2k1r1/8/8/8/8/8/8/1R2K1R1 w KQkq - 0 1") // X-FEN
	fmt.Println(p, err)
	// Output:
	// at offset 24: no rook of white fits the castling right 'Q'
	// 1r2k1r1/8/8/8/8/8/8/1R2K1R1 w GBgb - 0 1 <nil>
}

// On a Chess960 board castling is written as king takes rook.
func ExampleChess960() {
	p, err := chess.Chess960(959)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	p, err = chess.ParseFEN("4k3/8/8/8/8/8/8/1K5R w H - 0 1")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := p.ParseUCI("b1h1")
	fmt.Println(p.SAN(m), err)
	fmt.Println(p.Play(m))
	// Output:
	// rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w CAca - 0 1
	// O-O <nil>
	// 4k3/8/8/8/8/8/8/5RK1 b - - 1 1
}

// A history is a plain slice of keys; keep it beside the position.
func ExampleHistory() {
	p := chess.Start()
	h := chess.History(nil).Add(&p)
	for i := 0; !p.Outcome(h).Over(); i++ {
		m, err := p.ParseUCI([]string{"g1f3", "g8f6", "f3g1", "f6g8"}[i%4])
		if err != nil {
			fmt.Println(err)
			return
		}
		p = p.Play(m)
		h = h.Add(&p)
	}
	fmt.Println(p.Ply(), "plies,", p.Outcome(h).Reason)
	// Output:
	// 16 plies, fivefold repetition
}

// A comment gives the player and the time of a move.
func ExampleGame_PGN() {
	g := chess.Game{
		Tags:  []chess.Tag{{Name: "Event", Value: "Wamble"}, {Name: "Board", Value: "7"}},
		Start: chess.Start(),
	}
	p := g.Start
	for _, move := range []struct{ san, by string }{{"e4", "alice 12:00:01"}, {"e5", "bob 12:00:04"}, {"Nf3", ""}} {
		m, err := p.ParseSAN(move.san)
		if err != nil {
			fmt.Println(err)
			return
		}
		g.Plies = append(g.Plies, chess.Ply{Move: m, Comment: move.by})
		p = p.Play(m)
	}
	text, err := g.PGN()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text)
	// Output:
	// [Event "Wamble"]
	// [Site "?"]
	// [Date "????.??.??"]
	// [Round "?"]
	// [White "?"]
	// [Black "?"]
	// [Result "*"]
	// [Board "7"]
	//
	// 1. e4 {alice 12:00:01} 1... e5 {bob 12:00:04} 2. Nf3 *
}

func ExampleParsePGN() {
	text := "1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n1. d4 *\n"
	for text != "" {
		g, rest, err := chess.ParsePGN(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		end := g.End()
		fmt.Println(len(g.Plies), g.Result, end.Outcome(nil).Reason)
		text = rest
	}
	// Output:
	// 7 1-0 checkmate
	// 1 * in progress
}

func ExamplePosition_Divide() {
	p, err := chess.ParseFEN("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for m, leaves := range p.Divide(3) {
		fmt.Println(m, leaves)
	}
	fmt.Println(p.Perft(3))
	// Output:
	// e2e3 30
	// e2e4 30
	// e1d1 30
	// e1f1 30
	// e1d2 45
	// e1f2 45
	// 210
}

// A file of any length is read game by game; a broken game is reported and skipped.
func ExamplePGNReader() {
	file := strings.NewReader("[Event \"Club\"]\n\n1. e4 e5 (1... c5 {sharper}) 2. Qh5? *\n\n[Event \"Broken\"]\n\n1. e5 *\n\n[Event \"Cup\"]\n\n1. d4 1-0\n")
	games := chess.NewPGNReader(file)
	for {
		game, err := games.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(game.Tag("Event"), len(game.Plies), game.Result)
	}
	// Output:
	// Club 3 *
	// line 7: e5: illegal move
	// Cup 1 1-0
}

func ExamplePGNWriter() {
	p := chess.Start()
	e4, _ := p.ParseSAN("e4")
	d4, _ := p.ParseSAN("d4")
	game := chess.Game{Start: p, Plies: []chess.Ply{{Move: e4, NAGs: []uint8{1},
		Variations: []chess.Variation{{Plies: []chess.Ply{{Move: d4}}}}}}}
	var file strings.Builder
	if err := chess.NewPGNWriter(&file).Write(&game); err != nil {
		fmt.Println(err)
	}
	fmt.Println(file.String()[strings.LastIndex(file.String(), "]\n")+3:])
	// Output: 1. e4 $1 (1. d4) *
}

func ExamplePosition_SVG() {
	e2, e4 := chess.SquareAt(4, 1), chess.SquareAt(4, 3)
	svg := chess.Start().SVG(chess.SVGOptions{Coordinates: true, Marked: []chess.Square{e2, e4}})
	fmt.Println(svg[:62])
	// Output: <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 800">
}
