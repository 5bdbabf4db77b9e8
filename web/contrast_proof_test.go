//go:build proof

package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"wamble/internal/prooftest"
)

// squaresDiffer is true when a4 and b4 have different colours on each board that is drawn.
const squaresDiffer = `[...document.querySelectorAll('.tile canvas')].every(canvas => {
	const size = canvas.width / 8;
	const two = canvas.getContext('2d').getImageData(size / 2, 4.5 * size, size + 1, 1).data;
	return two.slice(0, 4).join() !== two.slice(-4).join();
})`

// currentMarked is true when the current item of a list has an outline, where there are no
// backgrounds.
const currentMarked = `!matchMedia('(forced-colors: active)').matches ||
	[...document.querySelectorAll('button[aria-current]')].every(e => getComputedStyle(e).outlineStyle === 'solid')`

// TestZoomAndContrast: at 200 % zoom the whole board is on the screen; with more contrast and
// with forced colours the board, the wall, the map, a watched board, a game, the past, the
// trail and the identity page pass, and every board has squares.
func TestZoomAndContrast(t *testing.T) {
	prooftest.Needs(t, "minutes")
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	other, p := meet(t, desk), meet(t, screen{width: 640, height: 400}) // 1280×800 at 200 %
	other.sit(h.url)
	watched := other.board()
	p.sit(h.url)
	p.audit("zoom")
	if n := see[int](p, `(scrollTo(0, 0), [...document.querySelectorAll('.square')].filter(e => e.getBoundingClientRect().bottom > innerHeight).length)`); n > 0 {
		t.Errorf("at 200 %% zoom %d squares are below the screen", n)
	}
	board := p.board()
	p.move(byClick, "e2", "e4")
	made := await[string](p, fmt.Sprintf(`fetch('/api/boards/%s').then(r => r.json()).then(g => g.moves[0].at)`, board))
	at, err := time.Parse(time.RFC3339Nano, made)
	if err != nil {
		t.Fatal(err)
	}
	at = at.UTC().Truncate(time.Second).Add(time.Second)
	p.until(fmt.Sprintf(`Date.now() > %d`, at.UnixMilli()))
	views := []struct{ name, path, shown string }{
		{"wall", "/watch", `document.querySelector('.rewind input') && document.querySelector('.tile canvas')?.dataset.fen`},
		{"map", "/map", `+document.querySelector('[data-boards]')?.dataset.boards > 0`},
		{"focus", "/watch/" + watched, `document.querySelector('[data-man="P"]')`},
		{"game", "/board/" + board, `document.querySelector('.moves li')`},
		{"past", "/at/" + at.Format(time.RFC3339), fmt.Sprintf(`document.querySelector('.tile[data-board="%s"] canvas')?.dataset.fen`, board)},
		{"trail", "/trail", fmt.Sprintf(`document.querySelector('.trail-page [data-board="%s"] canvas[data-marked="e2e4"]')`, board)},
		{"you", "/you", `document.querySelector('.identity .main')`},
	}
	tour := func(how string) {
		t.Helper()
		for _, v := range views {
			p.open(h.url + v.path)
			p.until(v.shown)
			p.audit(v.name + " " + how)
			if !see[bool](p, squaresDiffer) {
				t.Errorf("%s %s: a board has no squares", v.name, how)
			}
			if !see[bool](p, currentMarked) {
				t.Errorf("%s %s: the move that is shown is not marked", v.name, how)
			}
		}
	}
	p.look(desk)
	for _, feature := range []string{"prefers-contrast more", "forced-colors active"} {
		for _, scheme := range []string{"light", "dark"} {
			name, value, _ := strings.Cut(feature, " ")
			media := []*emulation.MediaFeature{{Name: name, Value: value},
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
			call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
			p.sit(h.url)
			p.audit(feature + " " + scheme)
			if (name == "forced-colors") == (scheme == "dark") || prooftest.Soaking() {
				tour(name + "-" + scheme)
			}
		}
	}
}
