package web_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestFirstMove: where the board was, a newcomer reads what became of their move and which
// game is theirs now; nothing lies over the board. After a move in a position that came up
// before they read how others have played it.
func TestFirstMove(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]screen{"desk": {width: 1280, height: 800},
		"phone-dark": {width: 390, height: 844, touch: true, dark: true}} {
		h := serve(t, conf(`(def min-boards 8)`)) // of its own: else the second newcomer would answer the first one's move
		p := meet(t, s)
		p.sit(h.url)
		board := p.board()
		p.move(byClick, "e2", "e4")
		p.reads(".story", "Your e4 stays on board "+board+".")
		p.reads(".story", "Board "+p.board()+": you are White.")
		p.reads(".how", "a game against yourself pays nothing")
		p.audit("first move")
		covered := see[int](p, `(scrollTo(0, 0), [...document.querySelectorAll('.square')].filter(e => {
			const b = e.getBoundingClientRect();
			return !document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)?.closest('.board');
		}).length)`)
		if covered > 0 {
			t.Errorf("%s: something lies over %d squares", name, covered)
		}
		p.move(byClick, "d2", "d4")
		p.reads(".story [data-crowd]", "1 played e4, 1 played d4")
	}
}

// endStays keeps the end of a game on the screen until the test has checked it: seconds are
// short on a busy machine.
const endStays = `(real => {
	window.setTimeout = (f, ms, ...more) => real(f, ms > 400 && ms <= 2000 && ms !== 1000 && document.querySelector('.result.end') ? 600000 : ms, ...more);
})(window.setTimeout)`

// uncovered checks that the card with the result covers none of some squares.
func (p *person) uncovered(squares ...string) {
	p.t.Helper()
	for _, s := range squares {
		if see[bool](p, fmt.Sprintf(`((a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)(
			document.querySelector('.result').getBoundingClientRect(), document.querySelector(%q).getBoundingClientRect())`, square(s))) {
			p.t.Errorf("the result lies over %s", s)
		}
	}
}

// TestMateStays: a mate stays on the screen for two seconds with a card, also with reduced
// motion; a click goes on at once.
func TestMateStays(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 1) (def max-boards 2)`))
	p := meet(t, screen{width: 1280, height: 800})
	p.sit(h.url)
	for _, hurried := range []bool{false, true} {
		next := foolsMate(p.fen())
		for ; next != "d8h4"; next = foolsMate(p.fen()) {
			p.move(byClick, next[:2], next[2:])
		}
		board := p.board()
		if hurried {
			see[bool](p, `(`+endStays+`, true)`) // so that only the click ends it
		}
		see[bool](p, fmt.Sprintf(`(() => {
			window.stayed = 0;
			window.said = '';
			let moved = 0, seen = 0;
			addEventListener('pointerup', () => { moved = performance.now(); }, true);
			const look = () => {
				const here = document.querySelector('.stage')?.dataset.board === %q, card = document.querySelector('.result.end');
				if (here && card) {
					seen ||= performance.now();
					said = card.textContent;
					if (%t && performance.now() - seen > 450) card.click(); // before that a click may be of the move's tap
				}
				if (seen && !card) stayed ||= performance.now() - moved;
				else requestAnimationFrame(look);
			};
			look();
			return true;
		})()`, board, hurried))
		byClick(p, "d8", "h4")
		p.until(`stayed > 0`)
		said, got := see[string](p, `said`), see[float64](p, `stayed`)
		if want := "Black won: checkmate.Checkmate! You finished board " + board; !strings.HasPrefix(said, want) {
			t.Errorf("the card says %q, want %q", said, want)
		}
		if !hurried && got < 2000 {
			t.Errorf("the mate stayed for %.0f ms", got)
		}
		t.Logf("the mate stayed for %.0f ms, hurried: %t", got, hurried)
		p.ready()
	}
}

// TestBoardIsKnown: a board on which the player has moved comes back now and then, and shows
// what they played there.
func TestBoardIsKnown(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 4) (def max-boards 4)`))
	both := []*person{meet(t, desk), meet(t, desk)}
	for _, p := range both {
		p.sit(h.url)
	}
	ada, r, played, left := both[0], rand.New(rand.NewPCG(3, 3)), map[string]string{}, ""
	for range 40 {
		for _, p := range both {
			board, uci := p.board(), anyMove(p.fen(), r)
			p.move(byClick, uci[:2], uci[2:4])
			if p == ada {
				left, played[board] = board, see[string](p, `document.querySelector('.trail li b').textContent`)
			}
		}
		if san := played[ada.board()]; san != "" && ada.board() != left {
			ada.reads(".story", "You played "+san+" here.")
			return
		}
	}
	t.Error("no board has come back")
}

// TestTrailLives: each move of the trail shows what became of it, also when the browser has
// lost it, and a page has all boards that the player has moved on.
func TestTrailLives(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p := meet(t, screen{width: 1280, height: 800})
	p.sit(h.url)
	first := p.board()
	p.move(byClick, "f2", "f3")
	p.until(`document.querySelector('.trail [data-fate="waits"]')`)
	p.move(byClick, "e7", "e5")
	p.until(`document.querySelector('.trail [data-fate="answered"]')`)
	p.reads(".trail", "answered e5")
	p.move(byClick, "g2", "g4")
	p.move(byClick, "d8", "h4")
	p.until(`document.querySelectorAll('.trail [data-fate="won"]').length === 2 && document.querySelectorAll('.trail [data-fate="lost"]').length === 2`)
	forget(p)
	p.sit(h.url)
	p.until(`document.querySelectorAll('.trail [data-fate="won"]').length === 2 && document.querySelectorAll('.trail [data-fate="lost"]').length === 2`)
	p.press(`.trail > a`)
	p.until(fmt.Sprintf(`document.querySelector('.trail-page [data-board="%s"][data-fate="won"] canvas[data-marked="d8h4"]')`, first))
	p.reads(".trail-page", "f3 e5 g4 Qh4#")
	p.audit("trail page")
}

// longTrail is a trail with the longest possible words, numbers and moves.
const longTrail = `localStorage.setItem('wamble.history', JSON.stringify({
	steps: ['waits', 'answered', 'won', 'lost', 'draw'].flatMap((state, i) =>
		[...Array(16)].map((_, k) => ({board: String(1234567 + i), san: 'exd8=Q+', piece: 'P', at: 1e12 - k, fate: {state, reply: 'Qh4xe1#'}}))),
	won: {1234569: '12345.6'},
}))`

// cutOff lists the texts of tiles that are wider or higher than their place.
const cutOff = `[...document.querySelectorAll('.trail-page .tile *')].filter(e => {
	const inside = e.closest('.tile').getBoundingClientRect(), text = document.createRange();
	text.selectNodeContents(e);
	const all = text.getBoundingClientRect();
	return e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight || all.right > inside.right || all.bottom > inside.bottom;
}).map(e => e.textContent)`

// TestTrailTilesFit: no tile of the trail cuts off its text, in any language.
func TestTrailTilesFit(t *testing.T) {
	t.Parallel()
	w := show(t, 1, time.Hour)
	for _, s := range []screen{{width: 390, height: 844, touch: true}, {width: 1280, height: 800}} {
		p := meet(t, s)
		p.onEveryPage(longTrail)
		p.open(w.url + "/trail")
		for lang, waits := range map[string]string{"en": "waits for an answer", "de": "wartet auf Antwort",
			"fr": "attend une réponse", "es": "espera respuesta"} {
			p.speak(lang)
			p.open(w.url + "/trail")
			p.reads(`.trail-page [data-fate="waits"]`, waits)
			p.until(`document.querySelectorAll('.trail-page .tile').length === 5`)
			if got := see[[]string](p, cutOff); len(got) > 0 {
				t.Errorf("%s, %d pixels: %q are cut off", lang, s.width, got)
			}
		}
	}
}

// forget makes a browser lose its stored trail when its page is left.
func forget(p *person) {
	p.t.Helper()
	see[bool](p, `(addEventListener('pagehide', () => localStorage.removeItem('wamble.history')), true)`)
}

// TestTrailFollows: a player who signs in on another device reads what happened to their
// moves while they were away, though they wait for a board, and finds the boards that they
// have moved on.
func TestTrailFollows(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	ada := meet(t, desk)
	ada.open(h.url + "/you")
	words := ada.askWords()
	ada.keepWords()
	ada.sit(h.url)
	board := ada.board()
	ada.move(byClick, "f2", "f3")
	ada.open("about:blank") // which gives the board back

	bob := meet(t, desk)
	bob.sit(h.url)
	for _, m := range []string{"e7e5", "g2g4", "d8h4"} {
		bob.move(byClick, m[:2], m[2:])
	}

	there := meet(t, phone)
	there.onEveryPage(`(real => { Date.now = () => real() + 3600000; })(Date.now)`) // an hour later
	there.open(h.url + "/you")
	there.press(".identity button:not(.main)")
	there.until(`document.querySelector('#words')`)
	there.pastes("#words", words)
	there.press(`[data-action="restore"]`)
	there.until(`document.querySelector('[data-identity="yes"]')`)
	there.press(`.ways a[href="/"]`)
	there.reads(".waiting .away", "1 game lost") // Bob has the only board
	there.audit("away, waiting")
	bob.open("about:blank")
	there.reads(".panel .away", "1 game lost")
	there.until(`document.querySelector('.trail [data-fate="lost"]')`)
	there.audit("away")
	there.press(`.away a`)
	there.until(fmt.Sprintf(`document.querySelector('.trail-page [data-board="%s"][data-fate="lost"] canvas[data-marked="f2f3"]')`, board))
}

// TestEmbed: a board in a frame shows its game and takes no board from anybody.
func TestEmbed(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p := meet(t, desk)
	p.sit(h.url)
	board := p.board()
	p.move(byClick, "e2", "e4")
	q := meet(t, screen{width: 420, height: 480})
	q.open(h.url + "/embed/" + board)
	q.until(`document.querySelector('[data-man="P"][data-at="e4"]')`)
	q.audit("embed")
	if see[bool](q, `Boolean(localStorage.getItem('wamble.token'))`) {
		t.Error("who looks at an embedded board has a session")
	}
	if wide := await[int](q, `fetch('/api/boards/`+board+`/png').then(r => r.blob()).then(createImageBitmap).then(i => i.width)`); wide != 480 {
		t.Errorf("the picture is %d pixels wide, want 480", wide)
	}
}
