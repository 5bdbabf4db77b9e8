package board

import "testing"

// The texts of positions do not change, though many share their memory, and a move shows at
// once.
func TestFENsStay(t *testing.T) {
	tb := newTable(t, 50, 10)
	var got, want []string
	for range 300 { // several long texts
		tb.move(t)
		for _, id := range tb.held[:3] {
			b := tb.Board(id)
			got, want = append(got, tb.FEN(b)), append(want, b.Position().FEN())
		}
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%d: got %s, want %s", i, got[i], want[i])
		}
	}
}
