package chess

import (
	"errors"
	"strings"
	"testing"
)

func TestFENIsReadAndWritten(t *testing.T) {
	for _, c := range []struct{ name, fen, want string }{
		{"classical", StartFEN, StartFEN},
		{"kiwipete", kiwipete, kiwipete},
		{"rights in another order", "r3k2r/8/8/8/8/8/8/R3K2R w qkQK - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"},
		{"no rights", "r3k2r/8/8/8/8/8/8/R3K2R b - - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R b - - 0 1"},
		{"Shredder-FEN", "rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w CAca - 0 1", "rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w CAca - 0 1"},
		{"Shredder-FEN of the classical arrangement", "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1"},
		{"X-FEN: outermost rooks", "1r2k1r1/8/8/8/8/8/8/RR2K1RR w KQkq - 0 1", "1r2k1r1/8/8/8/8/8/8/RR2K1RR w HAgb - 0 1"},
		{"X-FEN: an inner rook by its file", "4k3/8/8/8/8/8/8/RR2K1RR w GB - 0 1", "4k3/8/8/8/8/8/8/RR2K1RR w GB - 0 1"},
		{"X-FEN: king not on e", "r4k1r/8/8/8/8/8/8/R4K1R w KQkq - 0 1", "r4k1r/8/8/8/8/8/8/R4K1R w HAha - 0 1"},
		{"en passant that nobody can take", "4k3/8/8/3p4/8/8/8/4K3 w - d6 0 2", "4k3/8/8/3p4/8/8/8/4K3 w - d6 0 2"},
		{"en passant for Black", "4k3/8/8/8/3P4/8/8/4K3 b - d3 0 2", "4k3/8/8/8/3P4/8/8/4K3 b - d3 0 2"},
		{"nine queens", "QQQQQQQQ/Q6k/8/8/8/8/8/7K b - - 0 1", "QQQQQQQQ/Q6k/8/8/8/8/8/7K b - - 0 1"},
		{"large counters", "4k3/8/8/8/8/8/8/4K3 w - - 9999 9999", "4k3/8/8/8/8/8/8/4K3 w - - 9999 9999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, c.fen)
			if got := p.FEN(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if back := mustParse(t, p.FEN()); back != p {
				t.Errorf("read back it is another position")
			}
		})
	}
}

var badFENs = []struct {
	name, fen string
	offset    int
	reason    string // a part of it
}{
	{"empty", "", 0, "rank 8 has 0 of 8"},
	{"too long", strings.Repeat("1", 200), MaxFEN, "at most"},
	{"rank too short", "4k2/8/8/8/8/8/8/4K3 w - - 0 1", 3, "rank 8 has 7 of 8"},
	{"rank too long", "4k4/8/8/8/8/8/8/4K3 w - - 0 1", 2, "more than 8"},
	{"a ninth piece", "rnbqkbnrr/8/8/8/8/8/8/4K3 w - - 0 1", 8, "must end here"},
	{"seven ranks", "4k3/8/8/8/8/8/4K3 w - - 0 1", 17, "must end here"},
	{"nine ranks", "4k3/8/8/8/8/8/8/8/4K3 w - - 0 1", 17, "one space"},
	{"unknown piece", "4k3/8/8/4x3/8/8/8/4K3 w - - 0 1", 9, "a piece or a digit"},
	{"digit 9", "9/8/8/8/8/8/8/4K3 w - - 0 1", 0, "a piece or a digit"},
	{"digit 0", "4k30/8/8/8/8/8/8/4K3 w - - 0 1", 3, "must end here"},
	{"two digits", "4k12/8/8/8/8/8/8/4K3 w - - 0 1", 3, "two digits"},
	{"no black king", "8/8/8/8/8/8/8/4K3 w - - 0 1", 0, "black has 0 kings"},
	{"two white kings", "4k3/8/8/8/8/8/8/K3K3 w - - 0 1", 0, "white has 2 kings"},
	{"pawn on rank 8", "P3k3/8/8/8/8/8/8/4K3 w - - 0 1", 0, "a pawn cannot stand on rank 8"},
	{"pawn on rank 1", "4k3/8/8/8/8/8/8/4K2p w - - 0 1", 19, "a pawn cannot stand on rank 1"},
	{"nine pawns", "4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - - 0 1", 0, "white has 9 pawns"},
	{"too many queens", "4k3/8/8/8/8/qq6/pppppppp/K7 b - - 0 1", 0, "black has 8 pawns and at least 1 promoted"},
	{"two bishops of one colour and eight pawns", "4k3/8/8/8/8/8/PPPPPPPP/B1B1K3 w - - 0 1", 0, "promoted"},
	{"side not to move in check", "4k3/8/8/8/8/8/8/4RK2 w - - 0 1", 0, "black is in check although white is to move"},
	{"kings side by side", "8/8/8/8/8/8/4k3/4K3 w - - 0 1", 0, "in check"},
	{"no side", "4k3/8/8/8/8/8/8/4K3", 19, "the side to move"},
	{"bad side", "4k3/8/8/8/8/8/8/4K3 x - - 0 1", 20, "w or b"},
	{"upper-case side", "4k3/8/8/8/8/8/8/4K3 W - - 0 1", 20, "w or b"},
	{"two spaces", "4k3/8/8/8/8/8/8/4K3 w  - - 0 1", 22, "castling rights are"},
	{"right without rook", "4k3/8/8/8/8/8/8/4K2R w Q - 0 1", 23, "no rook of white"},
	{"right without king at home", "4k3/8/8/8/8/8/4K3/7R w K - 0 1", 23, "not on its back rank"},
	{"right of a queen", "4k3/8/8/8/8/8/8/4K2Q w K - 0 1", 23, "no rook"},
	{"right of an enemy rook", "R5k1/8/8/8/8/8/8/K7 b a - 0 1", 22, "no rook"},
	{"right given twice", "4k3/8/8/8/8/8/8/4K2R w KK - 0 1", 24, "two castling rights"},
	{"right given in two ways", "4k3/8/8/8/8/8/8/4K2R w KH - 0 1", 24, "two castling rights"},
	{"two rooks on one side", "4k3/8/8/8/8/8/8/4K1RR w HG - 0 1", 25, "two castling rights"},
	{"five rights", "r3k2r/8/8/8/8/8/8/R3K2R w KQkqK - 0 1", 30, "at most 4"},
	{"unknown right", "r3k2r/8/8/8/8/8/8/R3K2R w X - 0 1", 26, "castling rights are letters"},
	{"right of the king's own file", "r3k2r/8/8/8/8/8/8/R3K2R w E - 0 1", 26, "no rook"},
	{"en passant on the wrong rank", "4k3/8/8/3p4/8/8/8/4K3 w - d3 0 2", 26, "no double step"},
	{"en passant without a pawn", "4k3/8/8/8/8/8/8/4K3 w - d6 0 2", 24, "no pawn of black"},
	{"en passant behind an own pawn", "4k3/8/8/3P4/8/8/8/4K3 w - d6 0 2", 26, "no pawn of black"},
	{"en passant on a piece", "4k3/8/3n4/3p4/8/8/8/4K3 w - d6 0 2", 28, "not empty"},
	{"en passant over a piece", "4k3/3n4/8/3p4/8/8/8/4K3 w - d6 0 2", 28, "not empty"},
	{"en passant is no square", "4k3/8/8/8/8/8/8/4K3 w - x 0 2", 24, "a square"},
	{"no clock", "4k3/8/8/8/8/8/8/4K3 w - -", 25, "half-move clock"},
	{"negative clock", "4k3/8/8/8/8/8/8/4K3 w - - -1 1", 26, "half-move clock"},
	{"huge clock", "4k3/8/8/8/8/8/8/4K3 w - - 10000 1", 26, "from 0 to 9999"},
	{"leading zero", "4k3/8/8/8/8/8/8/4K3 w - - 01 1", 26, "leading zero"},
	{"no move number", "4k3/8/8/8/8/8/8/4K3 w - - 0", 27, "full-move number"},
	{"move number 0", "4k3/8/8/8/8/8/8/4K3 w - - 0 0", 28, "from 1 to 9999"},
	{"huge move number", "4k3/8/8/8/8/8/8/4K3 w - - 0 123456789012345678901234567890", 28, "from 1 to 9999"},
	{"something behind", StartFEN + " x", len(StartFEN), "nothing may follow"},
	{"a space behind", StartFEN + " ", len(StartFEN), "nothing may follow"},
	{"a NUL inside", "4k3/8/8/8/8/8/8/4K3 w - - 0 1\x00", 29, "nothing may follow"},
}

func TestBadFENIsRefused(t *testing.T) {
	for _, c := range badFENs {
		t.Run(c.name, func(t *testing.T) {
			p, err := ParseFEN(c.fen)
			var parse *ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("got %v, %v; want a *ParseError", p, err)
			}
			if parse.Offset != c.offset || !strings.Contains(parse.Reason, c.reason) {
				t.Errorf("got  %v\nwant %q at %d", err, c.reason, c.offset)
			}
			if p != (Position{}) {
				t.Errorf("a position came with the error: %s", p)
			}
		})
	}
}

// FuzzFEN: an accepted FEN is a position that can be played on, and it survives being written
// and read again.
func FuzzFEN(f *testing.F) {
	for _, seed := range []string{
		StartFEN, kiwipete,
		"1r2k1r1/8/8/8/8/8/8/RR2K1RR w KQkq - 0 1",
		"rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w CAca - 0 1",
		"4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1",
		"R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
		"8/8/8/8/8/8/8/8 w - - 0 1", "4k3/8/8/8/8/8/8/4K3 w KQkq e9 x y",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fen string) {
		p, err := ParseFEN(fen)
		if err != nil {
			var parse *ParseError
			if !errors.As(err, &parse) || parse.Offset < 0 || parse.Offset > len(fen) {
				t.Fatalf("ParseFEN(%q): %v", fen, err)
			}
			return
		}
		written := p.FEN()
		if len(written) > MaxFEN {
			t.Fatalf("%q has %d bytes", written, len(written))
		}
		if back := mustParse(t, written); back != p {
			t.Fatalf("%q was read as %q, and that as %q", fen, written, back)
		}
		moves := p.LegalMoves(nil)
		if got, want := p.board.movable(epSet(p.epFile)), len(moves) > 0; got != want {
			t.Errorf("movable of %s: got %v, want %v", p, got, want)
		}
		if got := p.CountLegal(); got != len(moves) || got > MaxMoves {
			t.Fatalf("%q: %d moves counted, %d named", written, got, len(moves))
		}
		for _, m := range moves {
			next := p.Play(m)
			if back := mustParse(t, next.FEN()); back != next {
				t.Fatalf("%q after %s: %q is read as %q", written, m, next, back)
			}
		}
	})
}
