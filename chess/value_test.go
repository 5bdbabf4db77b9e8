package chess

import (
	"errors"
	"strings"
	"testing"
	"unsafe"
)

func mustSquare(t testing.TB, s string) Square {
	t.Helper()
	square, err := ParseSquare(s)
	if err != nil {
		t.Fatalf("ParseSquare(%q): %v", s, err)
	}
	return square
}

func squares(t testing.TB, list string) (set uint64) {
	t.Helper()
	for s := range strings.FieldsSeq(list) {
		set |= 1 << mustSquare(t, s)
	}
	return set
}

// TestPositionIsASmallValue: a server keeps hundreds of thousands of positions in memory.
func TestPositionIsASmallValue(t *testing.T) {
	if got, want := unsafe.Sizeof(Position{}), uintptr(40); got != want {
		t.Errorf("a Position has %d bytes, want %d", got, want)
	}
	seen := map[Position]int{Start(): 1}
	seen[mustParse(t, StartFEN)]++
	if got, want := seen[Start()], 2; got != want {
		t.Errorf("the start position was found %d times, want %d", got, want)
	}
}

func TestPlayLeavesThePositionAlone(t *testing.T) {
	p := Start()
	for _, m := range p.LegalMoves(nil) {
		p.Play(m)
	}
	if p != Start() {
		t.Errorf("the position became %s", p)
	}
}

func TestSquares(t *testing.T) {
	for s := range Square(64) {
		if back := mustSquare(t, s.String()); back != s {
			t.Errorf("%d is written %s and read %d", s, s, back)
		}
		if got := SquareAt(s.File(), s.Rank()); got != s {
			t.Errorf("SquareAt(%d, %d) = %s, want %s", s.File(), s.Rank(), got, s)
		}
	}
	if got := SquareAt(8, 0); got != NoSquare || got.Valid() || got.String() != "-" {
		t.Errorf("SquareAt(8, 0) = %v", got)
	}
	for _, bad := range []struct {
		text   string
		offset int
	}{{"", 0}, {"e", 1}, {"e44", 2}, {"i4", 0}, {"e9", 1}, {"E4", 0}, {"e0", 1}} {
		_, err := ParseSquare(bad.text)
		var parse *ParseError
		if !errors.As(err, &parse) || parse.Offset != bad.offset {
			t.Errorf("ParseSquare(%q): %v, want a ParseError at %d", bad.text, err, bad.offset)
		}
	}
}

func TestPieceAt(t *testing.T) {
	p := mustParse(t, "r3k2r/8/8/8/8/8/P7/R3K2R b KQkq - 0 1")
	for square, want := range map[string]string{"a8": "r", "e8": "k", "a2": "P", "h1": "R", "e1": "K", "d4": "."} {
		if got := p.PieceAt(mustSquare(t, square)).String(); got != want {
			t.Errorf("on %s stands %q, want %q", square, got, want)
		}
	}
	if got := p.PieceAt(NoSquare); got != (Piece{}) {
		t.Errorf("PieceAt(NoSquare) = %v", got)
	}
	if got := p.LegalFrom(nil, NoSquare); got != nil {
		t.Errorf("LegalFrom(NoSquare) = %v", got)
	}
	if got := p.LegalFrom(nil, mustSquare(t, "a2")); got != nil {
		t.Errorf("LegalFrom of an enemy pawn = %v", got)
	}
}

func TestIsLegal(t *testing.T) {
	p := Start()
	m, err := p.ParseUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		move Move
		want bool
	}{{m, true}, {0, false}, {m &^ (7 << 12), false}, {m | 1<<15, false}} {
		if got := p.IsLegal(c.move); got != c.want {
			t.Errorf("IsLegal(%#x) = %v, want %v", uint16(c.move), got, c.want)
		}
	}
	if p.Play(m).IsLegal(m) {
		t.Error("e2e4 is legal for Black")
	}
}

// TestNothingAllocates: the calls that a server makes for every move do not allocate.
func TestNothingAllocates(t *testing.T) {
	p := mustParse(t, kiwipete)
	m, err := p.ParseUCI("e1g1")
	if err != nil {
		t.Fatal(err)
	}
	h := make(History, 0, maxHistory).Add(&p)
	var next Position
	moves := make([]Move, 0, MaxMoves)
	text := make([]byte, 0, MaxFEN)
	for name, call := range map[string]func(){
		"LegalMoves": func() { moves = p.LegalMoves(moves[:0]) },
		"LegalFrom":  func() { moves = p.LegalFrom(moves[:0], m.From()) },
		"CountLegal": func() { p.CountLegal() },
		"IsLegal":    func() { p.IsLegal(m) },
		"Play":       func() { next = p.Play(m) },
		"ParseUCI":   func() { _, err = p.ParseUCI("e1g1") },
		"illegal":    func() { _, err = p.ParseUCI("e1a8") },
		"AppendUCI":  func() { text = m.AppendUCI(text[:0]) },
		"AppendSAN":  func() { text = p.AppendSAN(text[:0], m) },
		"ParseSAN":   func() { _, err = p.ParseSAN("O-O") },
		"AppendFEN":  func() { text = p.AppendFEN(text[:0]) },
		"ParseFEN":   func() { _, err = ParseFEN(kiwipete) },
		"Key":        func() { p.Key() },
		"Add":        func() { h = h.Add(&p) },
		"Outcome":    func() { p.Outcome(h) },
		"Perft":      func() { p.Perft(3) },
		"Chess960":   func() { _, err = Chess960(959) },
	} {
		if got := testing.AllocsPerRun(10, call); got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
	}
	if got, want := next.Turn(), Black; got != want {
		t.Errorf("after the move it is the turn of %s, want %s", got, want)
	}
}
