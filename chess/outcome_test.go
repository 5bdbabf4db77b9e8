package chess

import (
	"strings"
	"testing"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		name, fen string
		want      Outcome
	}{
		{"start", StartFEN, Outcome{}},
		{"White is mated", "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", Outcome{BlackWins, Checkmate}},
		{"Black is mated", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", Outcome{WhiteWins, Checkmate}},
		{"smothered", "6rk/5Npp/8/8/8/8/8/6K1 b - - 0 1", Outcome{WhiteWins, Checkmate}},
		{"the mating pawn can be taken in passing", "8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1", Outcome{}},
		{"stalemate", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", Outcome{Draw, Stalemate}},
		{"stalemate with a pinned piece", "kb5R/8/K7/8/8/8/8/8 b - - 0 1", Outcome{Draw, Stalemate}},
		{"mate goes before 50 moves", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 100 90", Outcome{WhiteWins, Checkmate}},
		{"stalemate goes before material", "7k/5K2/8/6N1/8/8/8/8 b - - 0 1", Outcome{Draw, Stalemate}},
		{"50 moves", "r5k1/8/8/8/8/8/8/R5K1 b - - 100 90", Outcome{Draw, FiftyMoves}},
		{"49 moves and a half", "r5k1/8/8/8/8/8/8/R5K1 b - - 99 90", Outcome{}},
		{"bare kings", "4k3/8/8/8/8/8/8/4K3 w - - 0 1", Outcome{Draw, InsufficientMaterial}},
		{"a knight", "4k3/8/8/8/8/8/8/4KN2 w - - 0 1", Outcome{Draw, InsufficientMaterial}},
		{"a bishop", "4kb2/8/8/8/8/8/8/4K3 w - - 0 1", Outcome{Draw, InsufficientMaterial}},
		{"bishops of one colour", "4kb2/8/8/8/8/8/8/2B1K3 w - - 0 1", Outcome{Draw, InsufficientMaterial}},
		{"bishops of both colours", "4kb2/8/8/8/8/8/8/4KB2 w - - 0 1", Outcome{}},
		{"two knights", "4k3/8/8/8/8/8/8/4KNN1 w - - 0 1", Outcome{}},
		{"knight against knight", "4kn2/8/8/8/8/8/8/4KN2 w - - 0 1", Outcome{}},
		{"knight against bishop", "4kb2/8/8/8/8/8/8/4KN2 w - - 0 1", Outcome{}},
		{"a pawn", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", Outcome{}},
		{"a rook", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", Outcome{}},
		{"a queen", "4k3/8/8/8/8/8/8/3QK3 w - - 0 1", Outcome{}},
	} {
		p := mustParse(t, c.fen)
		if got := p.Outcome(nil); got != c.want || got.Over() != (c.want != Outcome{}) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// moveAll plays moves in UCI and keeps the history.
func moveAll(t *testing.T, p Position, h History, moves string) (Position, History) {
	t.Helper()
	for uci := range strings.FieldsSeq(moves) {
		m, err := p.ParseUCI(uci)
		if err != nil {
			t.Fatalf("%s in %s: %v", uci, p, err)
		}
		p = p.Play(m)
		h = h.Add(&p)
	}
	return p, h
}

func TestFivefoldRepetition(t *testing.T) {
	p := Start()
	var h History
	if got := h.Repetitions(); got != 0 {
		t.Errorf("an empty history repeats %d times", got)
	}
	h = h.Add(&p)
	for want := 1; want <= 5; want++ {
		if got := h.Repetitions(); got != want {
			t.Errorf("%d repetitions, want %d", got, want)
		}
		wantOutcome := Outcome{}
		if want == 5 {
			wantOutcome = Outcome{Draw, FivefoldRepetition}
		}
		if got := p.Outcome(h); got != wantOutcome {
			t.Errorf("after %d repetitions: %v, want %v", want, got, wantOutcome)
		}
		p, h = moveAll(t, p, h, "g1f3 g8f6 f3g1 f6g8")
	}
	if p, h = moveAll(t, p, h, "e2e4"); len(h) != 1 {
		t.Errorf("after a pawn move the history has %d keys, want 1", len(h))
	}
	if p, h = moveAll(t, p, h, "g8f6"); len(h) != 2 {
		t.Errorf("after one more the history of %s has %d keys, want 2", p, len(h))
	}
}

// TestWhatIsTheSamePosition: rights and en passant captures count, counters
// and a useless en passant square do not.
func TestWhatIsTheSamePosition(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"counters", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/8/8/8/8/8/8/4K2R w K - 7 40", true},
		{"side to move", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/8/8/8/8/8/8/4K2R b K - 0 1", false},
		{"a castling right", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/8/8/8/8/8/8/4K2R w - - 0 1", false},
		{"en passant that can be taken", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "4k3/8/8/3pP3/8/8/8/4K3 w - - 0 2", false},
		{"en passant out of reach", "4k3/8/8/3p4/8/8/8/4K3 w - d6 0 2", "4k3/8/8/3p4/8/8/8/4K3 w - - 0 2", true},
		{"en passant that would uncover a check", "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 2", "8/8/8/K2pP2r/8/8/8/4k3 w - - 0 2", true},
		{"colours", "4k3/8/8/8/8/8/8/4K2R w - - 0 1", "4k3/8/8/8/8/8/8/4K2r w - - 0 1", false},
	} {
		a, b := keyOf(t, c.a), keyOf(t, c.b)
		if (a == b) != c.same {
			t.Errorf("%s: keys %#x and %#x, same = %v, want %v", c.name, a, b, a == b, c.same)
		}
	}
}

// TestKeysNeverChange: keys are stored in state files.
func TestKeysNeverChange(t *testing.T) {
	for fen, want := range map[string]uint64{
		StartFEN:                            0x0c258e4d956b25f8,
		kiwipete:                            0x0f606b3b07a3ac2c,
		"4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2": 0xb0508c34a3184e13,
		"4k3/8/8/8/8/8/8/6KR b H - 0 1":     0x44f161933d3157b3,
	} {
		if got := keyOf(t, fen); got != want {
			t.Errorf("%s: key %#x, want %#x", fen, got, want)
		}
	}
}

// TestKeysDiffer: no two positions of many random games share a key unless
// they are the same.
func TestKeysDiffer(t *testing.T) {
	seen := map[uint64]string{}
	randomGames(t, 40, 200, func(p Position, _ []Move, _ Move) {
		p.halfmoves, p.fullmoves, p.chess960 = 0, 1, false
		if p.board.epCapturers(epSet(p.epFile)) == 0 {
			p.epFile = 0
		}
		fen := p.FEN()
		if other, found := seen[p.Key()]; found && other != fen {
			t.Fatalf("%s and %s share the key %#x", fen, other, p.Key())
		}
		seen[p.Key()] = fen
	})
}

func TestHistoryIsBounded(t *testing.T) {
	p := mustParse(t, "r5k1/8/8/8/8/8/8/R5K1 w - - 1 1")
	h := History(nil).Add(&p)
	for range 200 {
		p, h = moveAll(t, p, h, "a1b1 a8b8 b1a1 b8a8")
	}
	if len(h) != maxHistory || cap(h)*8 > 2048 {
		t.Errorf("the history has %d keys in room for %d, want %d", len(h), cap(h), maxHistory)
	}
	if got, want := h.Repetitions(), maxHistory/4; got != want {
		t.Errorf("%d repetitions, want %d", got, want)
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{InProgress.String(), "*"}, {WhiteWins.String(), "1-0"}, {BlackWins.String(), "0-1"},
		{Draw.String(), "1/2-1/2"}, {Result(9).String(), "?"},
		{Checkmate.String(), "checkmate"}, {Reason(99).String(), "unknown"},
		{White.String(), "white"}, {Black.Other().String(), "white"}, {White.Other().String(), "black"},
		{Piece{Knight, White}.String(), "N"}, {Piece{}.String(), "."}, {string(Kind(42).Letter()), "."},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for reason := Ongoing; reason <= FivefoldRepetition; reason++ {
		if reason.String() == "" {
			t.Errorf("reason %d has no text", reason)
		}
	}
}

func keyOf(t *testing.T, fen string) uint64 {
	t.Helper()
	p := mustParse(t, fen)
	return p.Key()
}
