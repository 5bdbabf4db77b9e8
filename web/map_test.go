package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"wamble/internal/prooftest"
)

// aSecond counts the frames of a second, while a script runs in each.
const aSecond = `new Promise(done => {
	let frames = 0; const start = performance.now();
	const frame = now => { frames++; now - start < 1000 ? requestAnimationFrame(frame) : done(1000 * frames / (now - start)); };
	requestAnimationFrame(frame);
})`

// smooth says how many frames there are in a second. In a soak, where the machine has
// nothing else to do, they are at least 50.
func (p *person) smooth(what string) {
	p.t.Helper()
	frames := await[float64](p, aSecond)
	p.t.Logf("%s: %.0f frames/s", what, frames)
	if prooftest.Soaking() && frames < 50 {
		p.t.Errorf("%s is drawn %.0f times a second, want 50", what, frames)
	}
}

// The tests of map and wall run by themselves, because they say how many frames there are.

// TestMap: ten thousand boards are on one canvas, each in its place; one zooms, walks by
// keys, and opens a board by a tap or by Enter.
func TestMap(t *testing.T) {
	w, small := show(t, 10_000, 2*time.Millisecond), show(t, 40, 20*time.Millisecond)
	p := meet(t, screen{width: 1280, height: 860, motion: true})
	p.open(w.url + "/map")
	p.grows(`+document.querySelector('[data-boards]').dataset.boards`, 10_000)
	p.grows(`wambleMap.tally.frames`, 61)
	p.smooth("10,000 boards")
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
	p.smooth("large boards")
	p.shot("map-near")
	p.keys("0")
	p.until(`wambleMap.camera.scale < 10`)
	p.press(`[aria-label="Zoom in"]`)
	p.keys(kb.Enter) // on the button, which zooms once more
	see[bool](p, `(document.querySelector('.map').focus(), true)`)
	p.keys(kb.Enter)
	p.until(`location.pathname === '/watch/3'`)

	q := meet(t, phone)
	q.front()
	q.open(small.url + "/map")
	defer func() {
		if t.Failed() {
			t.Log(see[string](q, `JSON.stringify({shown: document.visibilityState, tally: wambleMap.tally, places: wambleMap.places.length, drawn: wambleMap.size})`))
		}
	}()
	q.until(`document.querySelector('[data-boards="40"]') && wambleMap.size === 40`)
	q.shot("map-phone")
	q.audit("map on a phone")
	x, y := q.middle(".map")
	q.do(chromedp.TapXY(x, y))
	q.until(`/^\/watch\/[0-9]+$/.test(location.pathname)`)
}

// TestWallIsSmooth: a wall of a thousand live boards is drawn smoothly, no
// tile moves, and the board that is shown large is one where something happens.
func TestWallIsSmooth(t *testing.T) {
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
	p.smooth("the wall")
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
