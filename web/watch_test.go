package web_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// crowded is a server with more boards than fit on one page of the wall.
const crowded = `(def min-boards 70) (def chess960-interval 3) (def spectator-summary-hz 5) (def spectator-packets-per-sec 2000)
(def prediction-mode "streak")`

// all960 is true when the wall shows Chess960 boards, and only those.
const all960 = `document.querySelectorAll('.tile').length > 0 && [...document.querySelectorAll('.tile')].every(t => t.textContent.includes('960'))`

// TestWall: fifty boards of a busy crowd are on the screen, and equal those of the server
// when all is quiet. How soon a change is drawn is measured by BenchmarkWall.
func TestWall(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(crowded))
	crowd := release(t, h, 24, 240*time.Millisecond)
	p := meet(t, screen{width: 1440, height: 1000})
	p.open(h.url + "/watch")
	p.until(`document.querySelectorAll('.tile').length === 50`)
	p.grows(`wambleWall.painted`, 400)
	p.reads(".crowd", "playing")
	t.Logf("the slowest change was on the screen after %.0f ms", see[float64](p, `wambleWall.worst`))
	p.audit("wall")
	crowd.end() // what follows does not need it, and a slow browser has no time for both
	p.press(`[aria-label="Next page"]`)
	p.reads(".pager", "Page 2 of")
	p.press(`.segments button:nth-child(3)`)
	p.until(all960)
	p.press(`.segments button:nth-child(2)`)
	p.until(`document.querySelectorAll('.tile').length > 0 && [...document.querySelectorAll('.tile')].every(t => !t.textContent.includes('960'))`)
	p.until(`[...document.querySelectorAll('.tile canvas')].every(c => c.dataset.fen)`)
	p.untilPromise(`Promise.all([...document.querySelectorAll('.tile')].slice(0, 10).map(async tile => {
		const game = await (await fetch('/api/boards/' + tile.getAttribute('href').split('/').pop())).json();
		return game.fen.split(' ')[0] === tile.querySelector('canvas').dataset.fen.split(' ')[0];
	})).then(all => all.every(Boolean))`)
	p.press("a.tile") // no free place
	p.until(`location.pathname.startsWith('/watch/') && document.querySelector('.stage [role="grid"]')`)
}

// TestWallKeepsPlaces: while a crowd plays, games end and boards come, no tile of the wall
// moves or turns, none is blank, and each shows how far its game is.
func TestWallKeepsPlaces(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 60) (def max-boards 70) (def max-moves-per-board 12) (def spectator-summary-hz 10) (def spectator-packets-per-sec 2000)`))
	release(t, h, 16, 120*time.Millisecond)
	p := meet(t, screen{width: 1440, height: 1000})
	p.open(h.url + "/watch")
	p.until(`document.querySelectorAll('.tile[data-board]').length === 50`)
	see[bool](p, `(() => {
		window.moved = []; window.blank = []; window.ends = new Set(); window.rings = 0; window.turned = []; window.sides = new Map();
		const at = new Map();
		let n = 0;
		const look = () => {
			const tiles = document.querySelectorAll('.tile[data-board]');
			for (let k = 0; k < 2 && tiles.length > 0; k++) { // some in each frame, one after the other
				const tile = tiles[n++ % tiles.length];
				men(tile.dataset.board, tile.querySelector('canvas'));
			}
			for (const tile of document.querySelectorAll('.tile[data-board]')) {
				const id = tile.dataset.board, place = tile.offsetLeft + ',' + tile.offsetTop;
				if (at.has(id) && at.get(id) !== place) moved.push(id + ': ' + at.get(id) + ' to ' + place);
				at.set(id, place);
				if (!tile.querySelector('canvas').dataset.fen) blank.push(id);
				if (tile.querySelector('.ring')) rings++;
				const score = tile.querySelector('.score');
				if (score) ends.add(id + ' ' + score.textContent);
			}
			requestAnimationFrame(look);
		};
		// men compares the colours of the men on a canvas with its FEN, white at the bottom.
		const eye = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
		const men = (id, canvas) => {
			if (!canvas.dataset.fen) return;
			const [placement, side] = canvas.dataset.fen.split(' ');
			const want = placement.replace(/\d/g, n => '.'.repeat(n)).replaceAll('/', '').replace(/[a-z]/g, 'b').replace(/[A-Z]/g, 'w');
			eye.canvas.width = eye.canvas.height = canvas.width;
			eye.drawImage(canvas, 0, 0);
			const size = canvas.width / 8, {data} = eye.getImageData(0, 0, canvas.width, canvas.width);
			const fills = {w: [255, 253, 246], b: [58, 55, 66]};
			const count = (square, [r, g, b]) => {
				let found = 0;
				for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
					const i = 4 * (((square >> 3) * size + y) * canvas.width + (square & 7) * size + x);
					found += data[i] === r && data[i + 1] === g && data[i + 2] === b;
				}
				return found;
			};
			const got = [...want].map((_, square) => {
				const white = count(square, fills.w), black = count(square, fills.b);
				return white + black === 0 ? '.' : white > black ? 'w' : 'b';
			}).join('');
			sides.set(id, (sides.get(id) ?? new Set()).add(side));
			if (got !== want) turned.push(id + ' ' + side + ': ' + got + ' for ' + want);
		};
		look();
		return true;
	})()`)
	p.until(`ends.size >= 3 && wambleWall.painted >= 300 && [...sides.values()].filter(s => s.size === 2).length >= 5`)
	if got := see[[]string](p, `turned.slice(0, 5)`); len(got) > 0 {
		t.Errorf("tiles do not show white at the bottom: %v", got)
	}
	if got := see[[]string](p, `moved.slice(0, 5)`); len(got) > 0 {
		t.Errorf("tiles have moved: %v", got)
	}
	if got := see[[]string](p, `blank.slice(0, 5)`); len(got) > 0 {
		t.Errorf("tiles were blank: %v", got)
	}
	if n := see[int](p, `rings`); n > 0 {
		t.Errorf("%d rings grow before somebody who wants no motion", n)
	}
	p.reads(".tile", "move ")
	p.reads(".tile", "player")
	p.press(`a[href="/finished"]`)
	p.reads(".games", "too many moves")
	p.audit("finished")
}

// TestFeaturedEnds: the end of a game is shown large; a board that its player has left is
// not.
func TestFeaturedEnds(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p, visitor := meet(t, desk), meet(t, desk)
	// The spotlight stays where it is until a move on another board, however slow the machine
	// is.
	visitor.onEveryPage(`(real => { window.setInterval = (f, ms, ...more) => ms === 1000 ? 0 : real(f, ms, ...more); })(window.setInterval)`)
	p.sit(h.url)
	visitor.open(h.url + "/watch")
	visitor.until(`document.querySelector('.featured canvas')?.dataset.fen && document.querySelector('.tile[data-board]')`)
	see[bool](visitor, `(() => {
		window.shown = [];
		new MutationObserver(() => {
			const f = document.querySelector('.featured');
			shown.push(f ? f.dataset.what + ' ' + f.textContent : '');
		}).observe(document.body, {subtree: true, childList: true, attributes: true});
		return true;
	})()`)
	p.open("about:blank")
	visitor.front()
	visitor.until(`shown.length > 0 && !document.querySelector('.tile[data-board]')`)
	if see[bool](visitor, `shown.some((s) => s.startsWith('end '))`) {
		t.Error("a board that was left is shown as the end of a game")
	}
	p.sit(h.url)
	for _, m := range []string{"f2f3", "e7e5", "g2g4"} {
		p.move(byClick, m[:2], m[2:])
	}
	visitor.front() // a hidden page draws nothing
	visitor.until(`document.querySelector('.tile canvas')?.dataset.fen?.includes('/6P1/5P2/')`)
	p.move(byClick, "d8", "h4")
	visitor.until(`shown.some((s) => s.startsWith('end ') && s.includes('Black won: checkmate.'))`)
}

// TestFocus: a watched board has its moves, the way back through them, and its page.
func TestFocus(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 6) (def max-boards 10)`))
	crowd := release(t, h, 4, 80*time.Millisecond)
	p := meet(t, screen{width: 1280, height: 860, dark: true})
	p.open(h.url + "/watch")
	p.until(`window.wambleWall?.painted >= 100`)
	crowd.end() // from here on no game ends, and no board goes to sleep
	p.untilPromise(`Promise.all([...document.querySelectorAll('a.tile:not(.gone)')].map(async tile => {
		const game = await (await fetch('/api/boards/' + tile.dataset.board)).json();
		if (!game.result && game.moves.length >= 6) window.chosen = tile.dataset.board;
	})).then(() => Boolean(window.chosen))`)
	board := see[string](p, `chosen`)
	p.press(`.tile[data-board="` + board + `"]`)
	p.until(`location.pathname === '/watch/` + board + `' && document.querySelectorAll('.moves li').length >= 6`)
	p.audit("focus")
	p.press(`.travel [aria-label="First position"]`)
	p.until(`document.querySelector('[data-man="P"][data-at="e2"]') && document.querySelectorAll('.man').length === 32`)
	p.keys(kb.ArrowRight)
	p.until(`document.querySelector('.moves [aria-current]')`)
	p.press(`.tools button`)
	p.reads(".on-air", "Live")

	p.open(h.url + "/board/" + board)
	p.until(`document.querySelectorAll('.moves li').length >= 6`)
	p.audit("game")
	pgn, err := http.Get(see[string](p, `document.querySelector('a[download]').href`))
	if err != nil {
		t.Fatal(err)
	}
	defer pgn.Body.Close()
	if got, want := pgn.Header.Get("Content-Type"), "application/vnd.chess-pgn"; !strings.HasPrefix(got, want) {
		t.Errorf("the PGN is %q, want %q", got, want)
	}
}

// TestWatchedBoardWakes: a watcher of a board whose player leaves reads that it sleeps, and
// sees the moves of the next player without a reload.
func TestWatchedBoardWakes(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	first, visitor := meet(t, desk), meet(t, desk)
	first.sit(h.url)
	visitor.open(h.url + "/watch/" + first.board())
	visitor.reads(".on-air", "Live")
	first.open("about:blank")
	visitor.reads(".on-air", "Asleep")
	second := meet(t, desk)
	second.sit(h.url)
	visitor.front() // a hidden page requests nothing
	visitor.reads(".on-air", "Live")
	second.front()
	second.move(byClick, "e2", "e4")
	visitor.until(`document.querySelector('[data-man="P"][data-at="e4"]')`)
	visitor.reads(".moves", "e4")
}

// TestPredict: a prediction is made by dragging on a watched board, others see
// it, and the move decides.
func TestPredict(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 4)`)) // predictions are on by default
	player := meet(t, desk)
	player.sit(h.url)
	board := player.board()
	seer, other := meet(t, desk), meet(t, desk)
	for _, p := range []*person{seer, other} {
		p.open(h.url + "/watch/" + board)
		p.until(`document.querySelector('.board.mine')`)
	}
	white := see[string](player, `document.querySelector('.turn').textContent`)
	uci := anyMove(player.fen(), rand.New(rand.NewPCG(3, 3)))
	t.Logf("%s, %s", white, uci)
	byDrag(seer, uci[:2], uci[2:4])
	seer.told("You predict")
	seer.until(`document.querySelector('.tree .mine')`)
	other.until(`document.querySelector('.tree button') && document.querySelector('.arrow')`)
	if see[bool](other, `Boolean(document.querySelector('.tree .mine'))`) {
		t.Error("the other one sees the prediction as their own")
	}
	other.audit("predictions")
	player.move(byClick, uci[:2], uci[2:4])
	player.reads(".story", "1 player predicted it!")
	seer.told("was right")
	seer.until(`document.querySelector('[data-streak="1"]')`)
}

// TestFull: a player who finds every board taken is offered to watch, and plays as soon as
// one is free.
func TestFull(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	first, second := meet(t, desk), meet(t, desk)
	first.sit(h.url)
	second.open(h.url + "/")
	second.reads(".waiting", "Every board is being played on")
	second.audit("full")
	second.press(".waiting .main")
	second.until(`document.querySelectorAll('.tile canvas[data-fen]').length === 1`)
	second.press("a.tile") // a waiting player may predict
	second.until(`document.querySelector('.board.mine')`)
	byDrag(second, "e2", "e4")
	second.told("You predict")
	second.press(`.ways a[href="/"]`)
	second.reads(".waiting", "Every board is being played on")
	token := see[string](first, `localStorage.getItem('wamble.token')`)
	first.open("about:blank") // a page that is open would take the board again
	h.tell("kick", token)
	second.ready()
	second.move(byClick, "e2", "e4")
}
