package chess

import (
	"strings"
	"testing"
)

// checkLegality parses every move of a list and compares the error.
func checkLegality(t *testing.T, p Position, moves string, want error) {
	t.Helper()
	for uci := range strings.FieldsSeq(moves) {
		if _, got := p.ParseUCI(uci); got != want {
			t.Errorf("ParseUCI(%s): %v, want %v", uci, got, want)
		}
	}
}

// mirrored returns the FEN with colours and ranks exchanged.
func mirrored(fen string) string {
	fields := strings.Fields(fen)
	rows := strings.Split(fields[0], "/")
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	swap := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 32
		case r >= 'A' && r <= 'Z':
			return r + 32
		}
		return r
	}
	fields[0] = strings.Map(swap, strings.Join(rows, "/"))
	fields[1] = map[string]string{"w": "b", "b": "w"}[fields[1]]
	fields[2] = strings.Map(swap, fields[2])
	fields[3] = strings.NewReplacer("3", "6", "6", "3").Replace(fields[3])
	return strings.Join(fields, " ")
}

// TestWhatMovesLeaveBehind plays a few moves and compares the FEN: rights, en passant squares
// and counters.
func TestWhatMovesLeaveBehind(t *testing.T) {
	for _, c := range []struct{ name, fen, moves, want string }{
		{"first move", StartFEN, "e2e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"},
		{"the en passant square is gone after one move", StartFEN, "e2e4 g8f6", "rnbqkb1r/pppppppp/5n2/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 1 2"},
		{"castling short", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 9", "e1g1", "r3k2r/8/8/8/8/8/8/R4RK1 b kq - 4 9"},
		{"castling long, Black", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9", "e8c8", "2kr3r/8/8/8/8/8/8/R3K2R w KQ - 4 10"},
		{"a king move drops both rights", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1e2", "r3k2r/8/8/8/8/8/4K3/R6R b kq - 1 1"},
		{"a rook move drops its right", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1b1", "r3k2r/8/8/8/8/8/8/1R2K2R b Kkq - 1 1"},
		{"the right does not come back with the rook", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1b1 e8e7 b1a1", "r6r/4k3/8/8/8/8/8/R3K2R b K - 3 2"},
		{"capture of a rook revokes the opponent's right", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "a1a8", "R3k2r/8/8/8/8/8/8/4K2R b Kk - 0 1"},
		{"a promotion that takes the rook revokes it too", "r3k3/1P6/8/8/8/8/8/4K3 w q - 0 1", "b7a8q", "Q3k3/8/8/8/8/8/8/4K3 b - - 0 1"},
		{"another rook on the file keeps the 960 right", "4k3/8/8/8/8/8/7R/6KR w H - 0 1", "h2h5", "4k3/8/8/7R/8/8/8/6KR b H - 1 1"},
		{"en passant removes the pawn", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6", "4k3/8/3P4/8/8/8/8/4K3 b - - 0 2"},
		{"promotion to a knight", "4k3/P7/8/8/8/8/8/4K3 w - - 5 70", "a7a8n", "N3k3/8/8/8/8/8/8/4K3 b - - 0 70"},
		{"960: king stays, rook jumps", "4k3/8/8/8/8/8/8/6KR w H - 0 1", "g1h1", "4k3/8/8/8/8/8/8/5RK1 b - - 1 1"},
		{"960: rook stays, king jumps", "4k3/8/8/8/8/8/8/4KR2 w F - 0 1", "e1f1", "4k3/8/8/8/8/8/8/5RK1 b - - 1 1"},
		{"960: king and rook change places", "4k3/8/8/8/8/8/8/5KR1 w G - 0 1", "f1g1", "4k3/8/8/8/8/8/8/5RK1 b - - 1 1"},
		{"960: long", "4k3/8/8/8/8/8/8/RK6 w A - 0 1", "b1a1", "4k3/8/8/8/8/8/8/2KR4 b - - 1 1"},
		{"counters stop at their bound", "4k3/8/8/8/8/8/8/4K3 b - - 9999 9999", "e8e7", "8/4k3/8/8/8/8/8/4K3 w - - 9999 9999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, c.fen)
			for uci := range strings.FieldsSeq(c.moves) {
				m, err := p.ParseUCI(uci)
				if err != nil {
					t.Fatalf("%s in %s: %v", uci, p, err)
				}
				p = p.Play(m)
			}
			if got := p.FEN(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if back := mustParse(t, p.FEN()); back != p {
				t.Errorf("%s is not the same position when read back", p)
			}
		})
	}
}

func TestPly(t *testing.T) {
	p := Start()
	for want, uci := range []string{"e2e4", "e7e5", "g1f3"} {
		if got := p.Ply(); got != want {
			t.Errorf("before %s: ply %d, want %d", uci, got, want)
		}
		m, err := p.ParseUCI(uci)
		if err != nil {
			t.Fatal(err)
		}
		p = p.Play(m)
	}
}
