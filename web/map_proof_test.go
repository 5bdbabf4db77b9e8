//go:build proof

package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"wamble/internal/prooftest"
)

// aSecond counts the frames of a second, while a script runs in each.
const aSecond = `new Promise(done => {
	let frames = 0; const start = performance.now();
	const frame = now => { frames++; now - start < 1000 ? requestAnimationFrame(frame) : done(1000 * frames / (now - start)); };
	requestAnimationFrame(frame);
})`

// smooth measures the frames in a second. In a soak, where the machine has nothing else to
// do, they are at least 50.
func (p *person) smooth(proof *prooftest.Proof, what string) {
	p.t.Helper()
	frames := await[float64](p, aSecond)
	proof.Judge(frames >= prooftest.Sized(0., 0, 50), fmt.Sprintf("%s: %.0f frames/s", what, frames))
}

// TestMap: ten thousand boards are on one canvas, each in its place; keys zoom and move the
// view, and Enter opens a board.
func TestMap(t *testing.T) {
	proof := prooftest.Needs(t, "a machine for itself")
	w := show(t, 10_000, 2*time.Millisecond)
	p := meet(t, screen{width: 1280, height: 860, motion: true})
	p.open(w.url + "/map")
	p.grows(`+document.querySelector('[data-boards]').dataset.boards`, 10_000)
	p.grows(`wambleMap.tally.frames`, 61)
	p.smooth(proof, "10,000 boards")
	p.grows(`wambleMap.tally.frames`, 121) // so that the picture has some moves in it
	p.shot("map")
	p.audit("map")
	see[bool](p, `(document.querySelector('.map').focus(), true)`)
	p.keys(kb.ArrowRight, kb.ArrowRight, kb.ArrowDown)
	p.reads(".map-said", "Board 3, move ") // the second row, second column
	for range 9 {
		p.keys("+")
	}
	p.until(`wambleMap.camera.scale > 100`)
	p.smooth(proof, "large boards")
	p.shot("map-near")
	p.keys("0")
	p.until(`wambleMap.camera.scale < 10`)
	p.press(`[aria-label="Zoom in"]`)
	p.keys(kb.Enter) // on the button, which zooms once more
	see[bool](p, `(document.querySelector('.map').focus(), true)`)
	p.keys(kb.Enter)
	p.until(`location.pathname === '/watch/3'`)
}

// TestWallIsSmooth: a wall of a thousand live boards is drawn smoothly, no tile moves, and
// the board in the large view is one with recent moves.
func TestWallIsSmooth(t *testing.T) {
	proof := prooftest.Needs(t, "a machine for itself")
	w := show(t, 1000, 2*time.Millisecond)
	p := meet(t, screen{width: 1440, height: 1000, motion: true})
	p.open(w.url + "/watch")
	p.until(`document.querySelectorAll('.tile[data-board]').length === 50`)
	p.grows(`wambleWall.painted`, 100)
	see[bool](p, `(() => {
		window.moved = [];
		const at = new Map();
		const look = () => {
			for (const tile of document.querySelectorAll('.tile[data-board]')) {
				const id = tile.dataset.board, place = tile.offsetLeft + ',' + tile.offsetTop;
				if (at.has(id) && at.get(id) !== place) moved.push(id + ': ' + at.get(id) + ' to ' + place);
				at.set(id, place);
			}
			requestAnimationFrame(look);
		};
		look();
		return true;
	})()`)
	p.smooth(proof, "the wall")
	p.until(`document.querySelector('.tile .ring')`) // a move ripples
	p.until(`document.querySelector('.featured[data-what="check"]')`)
	p.reads(".featured", "Check!")
	p.reads(".featured", "somebody is thinking")
	p.until(`document.querySelector('.featured canvas').dataset.fen`)
	p.shot("wall-featured")
	p.audit("wall with a featured board")
	if got := see[[]string](p, `moved.slice(0, 5)`); len(got) > 0 {
		t.Errorf("tiles have moved: %v", got)
	}
}
