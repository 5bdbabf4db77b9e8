package chess

import "strconv"

// SVGOptions says how a position is drawn. The zero value draws the board as White sees it.
type SVGOptions struct {
	Black       bool     // draw the board as Black sees it
	Coordinates bool     // write letters and numbers in the squares at the rim
	Marked      []Square // squares to highlight, such as those of the last move
}

// The colours of a drawing.
const (
	svgLight  = "#efe8d8"
	svgDark   = "#7f9ca8"
	svgMarked = "#eeb240"
)

// SVG returns a drawing of the position, 800 by 800 units, which scales to any size.
func (p Position) SVG(o SVGOptions) string { return string(p.AppendSVG(nil, o)) }

// AppendSVG appends what SVG returns to dst.
func (p Position) AppendSVG(dst []byte, o SVGOptions) []byte {
	dst = append(dst, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 800"><title>`...)
	dst = p.AppendFEN(dst)
	dst = append(dst, `</title><path fill="`+svgLight+`" d="M0 0H800V800H0Z"/><path fill="`+svgDark+`" d="`...)
	for s := range NoSquare {
		if (s.File()+s.Rank())%2 == 0 {
			dst = o.square(dst, s)
		}
	}
	dst = append(dst, `"/>`...)
	if len(o.Marked) > 0 {
		dst = append(dst, `<path fill="`+svgMarked+`" fill-opacity=".55" d="`...)
		for _, s := range o.Marked {
			if s.Valid() {
				dst = o.square(dst, s)
			}
		}
		dst = append(dst, `"/>`...)
	}
	if o.Coordinates {
		dst = o.coordinates(dst)
	}
	dst = append(dst, `<g stroke-width="3" stroke-linejoin="round" stroke-linecap="round">`...)
	for s := range NoSquare {
		dst = o.piece(dst, p.PieceAt(s), s)
	}
	return append(dst, "</g></svg>\n"...)
}

// corner returns the upper left corner of a square.
func (o *SVGOptions) corner(s Square) (x, y int) {
	if o.Black {
		s ^= 63
	}
	return 100 * s.File(), 700 - 100*s.Rank()
}

// square appends a path around a square.
func (o *SVGOptions) square(dst []byte, s Square) []byte {
	x, y := o.corner(s)
	dst = strconv.AppendInt(append(dst, 'M'), int64(x), 10)
	dst = strconv.AppendInt(append(dst, ' '), int64(y), 10)
	return append(dst, "h100v100h-100Z"...)
}

func (o *SVGOptions) coordinates(dst []byte) []byte {
	dst = append(dst, `<g font-family="sans-serif" font-size="18" fill="#333">`...)
	for i := range 8 {
		file, rank := SquareAt(i, 0), SquareAt(0, i)
		if o.Black {
			file, rank = SquareAt(i, 7), SquareAt(7, i)
		}
		x, y := o.corner(file)
		dst = svgText(dst, x+84, y+94, byte('a'+i))
		x, y = o.corner(rank)
		dst = svgText(dst, x+5, y+21, byte('1'+i))
	}
	return append(dst, "</g>"...)
}

func svgText(dst []byte, x, y int, c byte) []byte {
	dst = strconv.AppendInt(append(dst, `<text x="`...), int64(x), 10)
	dst = strconv.AppendInt(append(dst, `" y="`...), int64(y), 10)
	return append(dst, '"', '>', c, '<', '/', 't', 'e', 'x', 't', '>')
}

// piece appends the drawing of a piece.
func (o *SVGOptions) piece(dst []byte, piece Piece, s Square) []byte {
	if piece.Kind == None {
		return dst
	}
	fill, edge, lines := "#fff", "#222", "#222"
	if piece.Color == Black {
		fill, edge, lines = "#333", "#111", "#ddd"
	}
	x, y := o.corner(s)
	dst = strconv.AppendInt(append(dst, `<g transform="translate(`...), int64(x), 10)
	dst = strconv.AppendInt(append(dst, ' '), int64(y), 10)
	dst = append(dst, `)">`...)
	d := &drawings[piece.Kind]
	for _, path := range d.body {
		dst = append(dst, `<path fill="`+fill+`" stroke="`+edge+`" d="`+path+`"/>`...)
	}
	for _, path := range d.detail {
		dst = append(dst, `<path fill="none" stroke="`+lines+`" d="`+path+`"/>`...)
	}
	return append(dst, "</g>"...)
}

// drawings has the pieces of web/src/board/pieces.ts, 100 by 100 units each. The body is
// filled, the detail is lines. A test compares the two files.
var drawings = [...]struct{ body, detail []string }{
	Pawn: {
		body: []string{
			"M43 45C42 58 36 66 29 77H71C64 66 58 58 57 45Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
			"M35.5 33a14.5 14.5 0 1 1 29 0a14.5 14.5 0 1 1 -29 0Z",
			"M37 46H63C65 46 66 47 66 49S65 52 63 52H37C35 52 34 51 34 49S35 46 37 46Z",
		},
	},
	Knight: {
		body: []string{
			"M31 77C30 66 39 59 44 49C40 52 37 53 34 57C31 61 26 62 22 58C18 55 18 50 21 46C26 40 28 36 30 30C31 25 34 22 37 20L35 9L46 16C63 16 80 33 75 77Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
		},
		detail: []string{"M48 25C60 27 69 43 68 70", "M26 52L28 50",
			"M37.4 31a1.6 1.6 0 1 1 3.2 0a1.6 1.6 0 1 1 -3.2 0Z"},
	},
	Bishop: {
		body: []string{
			"M42 64C41 70 36 74 30 77H70C64 74 59 70 58 64Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
			"M50 18C62 26 69 38 68 48C67 56 61 60 59 65H41C39 60 33 56 32 48C31 38 38 26 50 18Z",
			"M44.5 14a5.5 5.5 0 1 1 11 0a5.5 5.5 0 1 1 -11 0Z",
			"M37 62H63C65 62 66 63 66 65S65 68 63 68H37C35 68 34 67 34 65S35 62 37 62Z",
		},
		detail: []string{"M50 33V49", "M42.500 41H57.500"},
	},
	Rook: {
		body: []string{
			"M36 42H64L67 77H33Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
			"M26 16H37V24H45V16H55V24H63V16H74V34L66 43H34L26 34Z",
		},
		detail: []string{"M34 43H66", "M35 66H65"},
	},
	Queen: {
		body: []string{
			"M28 77C31 69 31 64 28 56L17 28L33 45L35 20L46 43L50 17L54 43L65 20L67 45L83 28L72 56C69 64 69 69 72 77Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
			"M11 25a5 5 0 1 1 10 0a5 5 0 1 1 -10 0Z",
			"M29.5 16a5 5 0 1 1 10 0a5 5 0 1 1 -10 0Z",
			"M45 13a5 5 0 1 1 10 0a5 5 0 1 1 -10 0Z",
			"M60.5 16a5 5 0 1 1 10 0a5 5 0 1 1 -10 0Z",
			"M79 25a5 5 0 1 1 10 0a5 5 0 1 1 -10 0Z",
		},
		detail: []string{"M29 58C42 53 58 53 71 58", "M30 68C43 64 57 64 70 68"},
	},
	King: {
		body: []string{
			"M47 22V16H41V10H47V5H53V10H59V16H53V22Z",
			"M29 77C31 70 31 66 27 60C18 50 20 35 34 33C41 32 46 35 50 40C54 35 59 32 66 33C80 35 82 50 73 60C69 66 69 70 71 77Z",
			"M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z",
			"M50 20C57 25 58 33 50 43C42 33 43 25 50 20Z",
		},
		detail: []string{"M50 43V59", "M28 61C42 56 58 56 72 61", "M30 69C43 65 57 65 70 69"},
	},
}
