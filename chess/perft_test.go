package chess

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"wamble/internal/prooftest"
)

const kiwipete = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

// perftRow is one line of testdata/perft.
type perftRow struct {
	fen    string
	leaves []uint64 // at depth 1, 2, 3 …
}

func readPerft(t testing.TB, name string) (rows []perftRow) {
	t.Helper()
	text, err := os.ReadFile("testdata/perft/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		counts, fen, found := strings.Cut(strings.TrimSpace(line), " | ")
		if !found {
			t.Fatalf("%s: %q is not counts | FEN", name, line)
		}
		row := perftRow{fen: fen}
		for count := range strings.FieldsSeq(counts) {
			n, err := strconv.ParseUint(count, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			row.leaves = append(row.leaves, n)
		}
		rows = append(rows, row)
	}
	return rows
}

func mustParse(t testing.TB, fen string) Position {
	t.Helper()
	p, err := ParseFEN(fen)
	if err != nil {
		t.Fatalf("ParseFEN(%q): %v", fen, err)
	}
	return p
}

// TestPerft compares with published figures. Each position is searched to the
// greatest depth whose number of leaves is within the budget of its set.
func TestPerft(t *testing.T) {
	for _, set := range []struct {
		name      string
		positions int
		budget    uint64
	}{
		{"wiki.txt", 6, prooftest.Sized[uint64](5e6, 200e6, 1<<63)},
		{"classical.txt", 300, prooftest.Sized[uint64](500e3, 6e6, 1<<63)},
		{"chess960.txt", 720, prooftest.Sized[uint64](100e3, 2.5e6, 1<<63)},
	} {
		t.Run(strings.TrimSuffix(set.name, ".txt"), func(t *testing.T) {
			t.Parallel()
			rows := readPerft(t, set.name)
			if got, want := len(rows), set.positions; got != want {
				t.Fatalf("%s has %d positions, want %d", set.name, got, want)
			}
			var total uint64
			for _, row := range rows {
				total += checkPerft(t, row, set.budget)
			}
			t.Logf("%d leaves", total)
		})
	}
}

// checkPerft returns how many leaves it counted. At depth 1 all positions are
// within every budget.
func checkPerft(t *testing.T, row perftRow, budget uint64) uint64 {
	t.Helper()
	depth := len(row.leaves)
	for depth > 1 && row.leaves[depth-1] > budget {
		depth--
	}
	p := mustParse(t, row.fen)
	got, want := p.Perft(depth), row.leaves[depth-1]
	if got != want {
		t.Errorf("%s: perft %d = %d, want %d", row.fen, depth, got, want)
	}
	return got
}

func TestPerftOfNoDepthIsOneLeaf(t *testing.T) {
	for _, depth := range []int{0, -1} {
		if got, want := Start().Perft(depth), uint64(1); got != want {
			t.Errorf("perft %d = %d, want %d", depth, got, want)
		}
		for m, nodes := range Start().Divide(depth) {
			t.Errorf("divide %d has %s with %d leaves, want nothing", depth, m, nodes)
		}
	}
	if got := (Position{}).Perft(3); got != 0 {
		t.Errorf("perft of the zero position = %d, want 0", got)
	}
}

func TestDivide(t *testing.T) {
	p := mustParse(t, kiwipete)
	got := map[string]uint64{}
	var sum uint64
	for m, nodes := range p.Divide(3) {
		got[m.String()] = nodes
		sum += nodes
	}
	if got, want := sum, p.Perft(3); got != want {
		t.Errorf("sum of the branches = %d, want %d", got, want)
	}
	if got, want := len(got), 48; got != want {
		t.Errorf("%d branches, want %d", got, want)
	}
	for move, want := range map[string]uint64{"e1g1": 2059, "e1c1": 1887, "d5e6": 2241, "a2a3": 2186} {
		if got[move] != want {
			t.Errorf("%s: %d leaves, want %d", move, got[move], want)
		}
	}
	seen := 0
	for range p.Divide(2) {
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("a loop that stopped after 3 branches saw %d", seen)
	}
}
