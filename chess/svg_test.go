package chess

import (
	"encoding/xml"
	"io"
	"os"
	"strings"
	"testing"
)

// TestSVG: the drawing is well formed, has every piece once, and Black's view is
// White's turned round.
func TestSVG(t *testing.T) {
	text := Start().SVG(SVGOptions{Coordinates: true, Marked: []Square{12, 28, NoSquare}})
	counts := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
	if counts["svg"] != 1 || counts["text"] != 16 || strings.Count(text, "<g transform=") != 32 {
		t.Errorf("got %v, want 32 pieces and 16 letters and numbers", counts)
	}
	for _, c := range []struct {
		black bool
		want  string
	}{{false, `translate(0 700)`}, {true, `translate(700 0)`}} {
		p := mustParse(t, "1k6/8/8/8/8/8/8/R6K w - - 0 1")
		if text := p.SVG(SVGOptions{Black: c.black}); !strings.Contains(text, c.want) {
			t.Errorf("black %t: the rook of a1 is not at %s in %s", c.black, c.want, text)
		}
	}
}

// TestDrawings: the browser draws the same pieces.
func TestDrawings(t *testing.T) {
	file, err := os.ReadFile("../web/src/board/pieces.ts")
	if err != nil {
		t.Fatal(err)
	}
	for kind, d := range drawings {
		for _, path := range append(d.body, d.detail...) {
			if !strings.Contains(string(file), path) && !strings.Contains(path, "a") { // balls are computed there
				t.Errorf("%c: pieces.ts lacks %s", Kind(kind).Letter(), path)
			}
		}
	}
}
