package tally

import (
	"math/rand/v2"
	"strings"
	"testing"

	"wamble/chess"
)

// played returns a move of the start position.
func played(t testing.TB, uci string) chess.Move {
	t.Helper()
	p := chess.Start()
	m, err := p.ParseUCI(uci)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTop(t *testing.T) {
	var table Table
	p := chess.Start()
	key := p.Key()
	top := func() string { return string(table.AppendTop(nil, key)) }
	for _, step := range []struct{ move, want string }{
		{"", ""},
		{"e2e4", ""}, // one's own move alone is not shown
		{"e2e4", "e2e4 2"},
		{"d2d4", "e2e4 2 d2d4 1"},
		{"d2d4", "e2e4 2 d2d4 2"},
		{"d2d4", "d2d4 3 e2e4 2"},
		{"g1f3", "d2d4 3 e2e4 2 g1f3 1"},
		{"c2c4", "d2d4 3 e2e4 2 g1f3 1 c2c4 1"},
		{"b1c3", "d2d4 3 e2e4 2 g1f3 1 c2c4 1"},
		{"b1c3", "d2d4 3 e2e4 2 b1c3 2 g1f3 1"},
	} {
		if step.move != "" {
			table.Count(key, played(t, step.move))
		}
		if got := top(); got != step.want {
			t.Errorf("after %s: got %q, want %q", step.move, got, step.want)
		}
	}
	if got := table.AppendTop(nil, key+1); len(got) > 0 {
		t.Errorf("of another position: %q", got)
	}
}

// TestFull: frequent positions stay, whatever else is played, and no move of one position
// counts for another.
func TestFull(t *testing.T) {
	var table Table
	r := rand.New(rand.NewPCG(1, 1))
	e4, d4 := played(t, "e2e4"), played(t, "d2d4")
	for i := range 200_000 {
		if i%4 == 0 {
			table.Count(7, e4)
		}
		table.Count(r.Uint64()<<8|7, d4) // of the same set
	}
	if got, want := string(table.AppendTop(nil, 7)), "e2e4 50000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i := range uint64(40) { // of one set
		table.Count(5+i*sets*8, d4)
		table.Count(5+i*sets*8, d4)
	}
	if got, want := string(table.AppendTop(nil, 5+39*sets*8)), "d2d4 2"; got != want && got != "" {
		t.Errorf("of a new position: got %q, want %q or nothing", got, want)
	}
	for range 4 {
		table.Count(9, e4)
	}
	for n := range 64 { // more moves than an entry holds
		table.Count(9, chess.Move(n+1))
	}
	if got := string(table.AppendTop(nil, 9)); !strings.HasPrefix(got, "e2e4 4 ") {
		t.Errorf("a position with many moves: got %q", got)
	}
}

func TestNoAllocations(t *testing.T) {
	var table Table
	e4 := played(t, "e2e4")
	table.Count(1, e4)
	buf := make([]byte, 0, 128)
	key := uint64(1)
	if n := testing.AllocsPerRun(1000, func() {
		key += 77
		table.Count(key, e4)
		buf = table.AppendTop(buf[:0], key)
	}); n > 0 {
		t.Errorf("counting allocates %g times", n)
	}
}

// BenchmarkCount is the worst case: no position comes up again.
func BenchmarkCount(b *testing.B) {
	var table Table
	e4, key := played(b, "e2e4"), uint64(1)
	for b.Loop() {
		key = key*0x9e3779b97f4a7c15 + 1
		table.Count(key, e4)
	}
}
