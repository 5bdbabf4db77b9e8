package chess

import (
	"strings"
	"testing"
)

func TestScharnaglNumbers(t *testing.T) {
	for number, want := range map[int]string{
		0:   "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf - 0 1",
		1:   "bqnbnrkr/pppppppp/8/8/8/8/PPPPPPPP/BQNBNRKR w HFhf - 0 1",
		518: "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1",
		959: "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w CAca - 0 1",
	} {
		p, err := Chess960(number)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.FEN(); got != want {
			t.Errorf("%d: got  %s\nwant %s", number, got, want)
		}
	}
	for _, number := range []int{-1, 960, 1 << 40} {
		if p, err := Chess960(number); err == nil {
			t.Errorf("Chess960(%d) = %s", number, p)
		}
	}
}

// TestAll960Arrangements: each is different and follows the rules of Chess960.
func TestAll960Arrangements(t *testing.T) {
	seen := map[string]bool{}
	for number := range 960 {
		p, err := Chess960(number)
		if err != nil {
			t.Fatal(err)
		}
		if back := mustParse(t, p.FEN()); back != p || !p.Chess960() {
			t.Errorf("%d: %s is read as %s", number, p, back)
		}
		rank := p.FEN()[35:43]
		if seen[rank] {
			t.Errorf("%d: %s is there twice", number, rank)
		}
		seen[rank] = true
		king, bishops := strings.Index(rank, "K"), strings.Index(rank, "B")+strings.LastIndex(rank, "B")
		if strings.Index(rank, "R") > king || strings.LastIndex(rank, "R") < king || bishops%2 == 0 {
			t.Errorf("%d: %s breaks the rules", number, rank)
		}
		xfen := strings.Replace(p.FEN(), strings.Fields(p.FEN())[2], "KQkq", 1)
		if back := mustParse(t, xfen); back.Key() != p.Key() {
			t.Errorf("%d: as X-FEN it is read as %s", number, back)
		}
	}
	if got, want := len(seen), 960; got != want {
		t.Errorf("%d arrangements, want %d", got, want)
	}
}

// TestClassicalIs518 but for the notation of castling.
func TestClassicalIs518(t *testing.T) {
	p, err := Chess960(ClassicalNumber)
	if err != nil {
		t.Fatal(err)
	}
	start := Start()
	if got, want := p.Key(), start.Key(); got != want {
		t.Errorf("key %#x, want %#x", got, want)
	}
	if p.chess960 = false; p != Start() {
		t.Errorf("518 is %s", p)
	}
	if got, want := Start(), mustParse(t, StartFEN); got != want {
		t.Errorf("Start() is %s", got)
	}
}
