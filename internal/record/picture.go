package record

import (
	"bytes"
	_ "embed"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"

	"wamble"
	"wamble/chess"
)

// pieces is the drawings of web/src/board/pieces.ts, a square of 60 pixels for each of PNBRQKpnbrqk.
//
//go:embed pieces.png
var pieces []byte

const side = 60 // pixels of a square

// order is the order of the pieces in the sheet.
const order = "PNBRQKpnbrqk"

// The colours of the squares, and of those of the last move.
var (
	light = image.NewUniform(color.RGBA{0xef, 0xe8, 0xd8, 0xff})
	dark  = image.NewUniform(color.RGBA{0x7f, 0x9c, 0xa8, 0xff})
	last  = image.NewUniform(color.NRGBA{0xee, 0xb2, 0x40, 0x8c})
)

// AppendPNG appends a picture of a board, White at the bottom, with its last move marked.
func AppendPNG(dst []byte, b *wamble.Board) ([]byte, error) {
	men, err := png.Decode(bytes.NewReader(pieces))
	if err != nil {
		return nil, err
	}
	p, err := chess.ParseFEN(b.FEN)
	if err != nil {
		return nil, fmt.Errorf("draw board %d: %w", b.ID, err)
	}
	img := image.NewRGBA(image.Rect(0, 0, 8*side, 8*side))
	marked := map[chess.Square]bool{}
	if n := len(b.Moves); n > 0 && len(b.Moves[n-1].UCI) >= 4 {
		for _, name := range []string{b.Moves[n-1].UCI[:2], b.Moves[n-1].UCI[2:4]} {
			marked[chess.SquareAt(int(name[0])-'a', int(name[1])-'1')] = true
		}
	}
	for s := range chess.Square(64) {
		at, field := squareAt(s), light
		if (s+s>>3)%2 == 0 {
			field = dark
		}
		draw.Draw(img, at, field, image.Point{}, draw.Src)
		if marked[s] {
			draw.Draw(img, at, last, image.Point{}, draw.Over)
		}
		if i := strings.IndexByte(order, p.PieceAt(s).Letter()); i >= 0 {
			draw.Draw(img, at, men, image.Pt(i*side, 0), draw.Over)
		}
	}
	out := bytes.NewBuffer(dst)
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(out, img)
	return out.Bytes(), err
}

// squareAt returns the rectangle of a square in the picture.
func squareAt(s chess.Square) image.Rectangle {
	x, y := int(s&7)*side, (7-int(s>>3))*side
	return image.Rect(x, y, x+side, y+side)
}
