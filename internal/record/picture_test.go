package record

import (
	"bytes"
	"image/png"
	"testing"

	"wamble"
)

// TestPicture: the picture has every piece on its square, and marks the last move.
func TestPicture(t *testing.T) {
	b := &wamble.Board{ID: 7, FEN: "rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 2",
		Moves: []wamble.Move{{Ply: 1, UCI: "e7e5"}}}
	data, err := AppendPNG(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil || img.Bounds().Dx() != 480 || img.Bounds().Dy() != 480 {
		t.Fatalf("got %v, %v, want 480 × 480", img, err)
	}
	look := func(file, rank int, corner bool) [3]uint32 {
		x, y := file*side+side/2, (7-rank)*side+side*2/3
		if corner {
			x, y = file*side+1, (7-rank)*side+1
		}
		r, g, b, _ := img.At(x, y).RGBA()
		return [3]uint32{r >> 8, g >> 8, b >> 8}
	}
	if e5, e4 := look(4, 4, true), look(4, 3, true); e5 == look(3, 3, true) || e4 != look(3, 4, true) {
		t.Errorf("e5 is %v and e4 %v: the last move is not marked", e5, e4)
	}
	white, black, empty := look(4, 1, false), look(4, 4, false), look(4, 2, false)
	if white[0] < 240 || black[0] > 100 || empty != look(4, 2, true) {
		t.Errorf("a white pawn is %v, a black one %v, an empty square %v", white, black, empty)
	}
	if _, err := AppendPNG(nil, &wamble.Board{FEN: "nonsense"}); err == nil {
		t.Error("a board without a position was drawn")
	}
}
