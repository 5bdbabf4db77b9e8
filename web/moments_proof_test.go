//go:build proof

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"wamble/internal/prooftest"
)

// TestKeyMoments makes a picture of the ten moments that matter, on every screen: arrival,
// the first move explained, a switch, a check, a mate, the message of a loss, the wall, the
// map, a finished game, and a typed move. People look at them; the test checks that each
// moment comes, and passes the audit for accessibility.
func TestKeyMoments(t *testing.T) {
	prooftest.Needs(t, "minutes")
	t.Parallel()
	screens := []screen{
		{width: 390, height: 844, touch: true, dark: true}, {width: 1280, height: 800},
		{width: 390, height: 844, touch: true}, {width: 1280, height: 800, dark: true},
	}
	for _, s := range screens[:prooftest.Sized(1, 1, len(screens))] {
		name := fmt.Sprintf("%d-%s", s.width, map[bool]string{true: "dark", false: "light"}[s.dark])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moments(t, s, name)
		})
	}
}

// lossStays keeps the message of a loss on the page: seconds are short on a busy machine.
const lossStays = `(real => { window.setTimeout = (f, ms, ...more) => real(f, ms === 5000 ? 600000 : ms, ...more); })(window.setTimeout)`

// moments lets two people play until all ten moments have come.
func moments(t *testing.T, s screen, name string) {
	h := serve(t, conf(`(def min-boards 8)`))
	she := meet(t, s)
	n := 0
	look := func(p *person, what string) {
		t.Helper()
		n++
		see[bool](p, `(scrollTo(0, 0), true)`)
		p.shot(fmt.Sprintf("moment-%02d-%s-%s", n, what, name))
		p.audit(what)
	}
	by := hand(byClick)
	if s.touch {
		by = byTouch
	}
	she.sit(h.url)
	look(she, "arrival")
	board := she.board()
	she.move(by, "e2", "e4")
	she.reads(".story", "Your e4 stays on board "+board+".")
	look(she, "first-move")
	board = she.board()
	she.move(by, "d2", "d4")
	she.reads(".story", "Your d4 stays on board "+board+".")
	look(she, "switch")

	h = serve(t, conf(alone)) // where they take turns
	she, he := meet(t, s), meet(t, s)
	he.onEveryPage(endStays)
	she.onEveryPage(lossStays)
	she.sit(h.url)
	board = she.board()
	he.open(h.url)
	he.reads(".waiting", "Every board is being played on")
	turn := func(p *person, from, to string) {
		t.Helper()
		p.ready()
		by(p, from, to)
	}
	turn(she, "f2", "f3")
	turn(he, "e7", "e5")
	turn(she, "g2", "g4")
	turn(he, "d8", "h4")
	he.reads(".result.end", "moved here")
	he.reads(".result.end strong", "won +")
	he.uncovered("e1", "h4")
	he.until(`document.querySelectorAll('.trail [data-fate="won"]').length === 2`)
	look(he, "mate")
	he.press(".result.end") // and on
	she.until(`document.querySelectorAll('.trail [data-fate="lost"]').length === 2`)
	she.reads(".toast", "Board "+board+" is lost")
	look(she, "loss")
	turn(she, "e2", "e4")
	turn(he, "f7", "f5")
	turn(she, "d1", "h5")
	he.ready()
	he.reads(".in-check", "Check")
	look(he, "check")
	he.types(".typed input", "g6")
	look(he, "typed")
	he.types(".typed input", kb.Enter)
	she.ready()
	she.reads(".story", "Last move: black pawn to g6.")
	she.open(h.url + "/watch/" + board)
	she.reads(".result", "Black won: checkmate.")
	she.uncovered("e1", "h4")
	look(she, "finished-game")

	small := show(t, 60, 10*time.Millisecond)
	viewer := meet(t, s)
	viewer.open(small.url + "/watch")
	viewer.until(`document.querySelector('.featured canvas')?.dataset.fen`)
	viewer.grows(`wambleWall.painted`, 200)
	look(viewer, "wall")
	viewer.open(small.url + "/map")
	viewer.until(`document.querySelector('[data-boards="60"]')`)
	viewer.grows(`wambleMap.tally.frames`, 61)
	look(viewer, "map")
}
