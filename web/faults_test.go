package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestRefusedMove: a move that the server refuses is taken back: the page says so, it counts
// nowhere, and the board can be moved on again when the host allows it.
func TestRefusedMove(t *testing.T) {
	t.Parallel()
	open := at(freePort(t), conf(`(def min-boards 8)`))
	h := serve(t, open)
	p := meet(t, desk)
	p.sit(h.url)
	board := p.board()
	h.write(open + `(policy-deny "*" "game.move" "play")`)
	h.tell("reload")
	byClick(p, "e2", "e4")
	p.told("toast bad: ", "e4", "does not allow")
	p.until(`document.querySelector('[data-man="P"][data-at="e2"]')`)
	p.reads(".turn", "may not move")
	if got := see[string](p, `document.querySelector('[data-number="moves"]').textContent + document.querySelector('.trail').textContent`); got != "0Your trailYour moves will appear here, each on a board of its own." {
		t.Errorf("a refused move is counted: %q", got)
	}
	h.write(open)
	h.tell("reload")
	see[bool](p, `(document.dispatchEvent(new Event('visibilitychange')), true)`) // the page says hello
	p.ready()
	if got := p.board(); got != board {
		t.Errorf("the board is %s, want %s", got, board)
	}
	p.move(byClick, "e2", "e4")
	p.reads(".trail", "Board "+board)
}

// TestTurnedAway: a banned player, and a newcomer while the server is drained, reads why on
// every page, and not that the connection was lost.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, order, word, want string }{
		{"banned", "ban", "127.0.0.1", "You are banned from this server"},
		{"drained", "drain", "on", "no new players at present"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, conf(`(def min-boards 8)`))
			h.tell(tc.order, tc.word)
			p := meet(t, desk)
			p.forgive("Failed to load resource") // requests of a banned reader fail
			p.open(h.url + "/")
			p.reads(".waiting", tc.want)
			p.open(h.url + "/watch")
			p.reads(".banner", tc.want)
			await[bool](p, `new Promise(done => setTimeout(() => done(true), 700))`) // a lost connection is hidden for 600 ms
			if text := see[string](p, `document.body.textContent`); strings.Contains(text, "Connection lost") {
				t.Errorf("the page says %q", text)
			}
		})
	}
}

// TestReadOnlyTold: while the server takes no moves the page says so, keeps the move, and
// sends it afterwards.
func TestReadOnlyTold(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	before := p.version()
	h.tell("brownout", "read-only")
	byClick(p, "e2", "e4")
	p.reads(".banner", "takes no moves at present")
	p.reads(".banner", "will be sent")
	late := meet(t, desk)
	late.open(h.url + "/")
	late.reads(".waiting", "takes no moves at present")
	h.tell("brownout", "off")
	p.answered(before)
	p.until(`!document.querySelector('.banner')`)
	late.ready()
}

// TestBoardTaken: a player whose board is gone reads what became of it: the host has ended
// the game, or their time was over.
func TestBoardTaken(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	board := p.board()
	h.tell("archive", board)
	p.told("The host has ended the game on board " + board)

	h = serve(t, conf(`(def min-boards 8) (def reservation-timeout 2)`))
	q := meet(t, desk)
	q.sit(h.url)
	q.told("Your time for board")
}

// TestAnnouncementStays: the host's announcement stays until it is closed.
func TestAnnouncementStays(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.onEveryPage(`(real => { window.setTimeout = (f, ms, ...more) => real(f, ms >= 4000 && ms <= 9000 ? ms / 1000 : ms, ...more); })(window.setTimeout)`)
	p.sit(h.url)
	h.tell("announce", "We play until midnight.")
	h.tell("announce", "--maintenance", "A new version comes.")
	p.told("A new version comes.")
	await[bool](p, `new Promise(done => setTimeout(() => done(true), 9000))`) // any other message is gone by then
	p.reads(".toast", "We play until midnight.")
	p.audit("announcement")
	p.press(".toast button")
	p.press(".toast button")
	p.until(`!document.querySelector('.toast')`)
}

// TestNothingThere: an address without a page, or without a board, is a page with links to
// others, and has the status 404.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.forgive("Failed to load resource")
	for _, path := range []string{"/elsewhere", "/watch/12/x", "/board/abc", "/board/987654321"} {
		p.open(h.url + path)
		p.reads("h1", "There is nothing here")
	}
	p.audit("nothing")
	p.press(`.nothing .main`)
	p.ready()
}

// TestDeclinedTerms: a player who declines the terms is told the consequence, cannot move,
// and may reconsider.
func TestDeclinedTerms(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8) (def tos-text "Be kind.")`))
	p := meet(t, desk)
	p.open(h.url + "/")
	p.reads("dialog .terms", "Be kind.")
	p.press(`dialog .buttons button:first-child`)
	p.reads(".declined", "neither play nor watch")
	p.reads(".turn", "Accept the terms")
	if see[bool](p, `Boolean(document.querySelector('.board.mine'))`) {
		t.Error("the board can be moved on")
	}
	p.press(`.ways a[href="/watch"]`)
	p.reads(".watch", "the terms are not accepted")
	p.press(".declined button")
	p.press(`[data-action="accept"]`)
	p.press(`.ways a[href="/"]`)
	p.ready()
}

// TestQuietNumbers: numbers that are loaded do not flash as if they had just been won, and
// the count of players present is not read out.
func TestQuietNumbers(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.onEveryPage(`window.flashes = []; addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
		for (const e of document.querySelectorAll('.moving em')) flashes.push(e.textContent);
	}).observe(document.body, {childList: true, subtree: true}));`)
	p.sit(h.url)
	for range 3 {
		p.playAny(byClick)
	}
	p.open(h.url + "/you")
	p.until(`parseInt(document.querySelector('[data-stat="Games"]')?.textContent) >= 1`)
	p.reads(".crowd", "playing")
	if got := see[[]string](p, `flashes`); len(got) > 0 {
		t.Errorf("at load %v flashed", got)
	}
	if live := see[bool](p, `Boolean(document.querySelector('.crowd').closest('[role="status"], [role="log"], [aria-live]'))`); live {
		t.Error("the crowd is read out whenever it changes")
	}
}

// TestSpectatorResult: a watcher of a game sees how it ends; later watchers, too, and no page
// calls a finished game live.
func TestSpectatorResult(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 1) (def max-boards 2)`))
	p, q := meet(t, desk), meet(t, screen{width: 1280, height: 800, dark: true})
	p.sit(h.url)
	board := ""
	for range 40 { // two boards take turns, until one is mated on
		next := foolsMate(p.fen())
		if next == "d8h4" {
			board = p.board()
			q.open(h.url + "/watch/" + board)
			q.reads(".on-air", "Live")
			q.until(`document.querySelectorAll('.moves li').length === 3`)
		}
		p.move(byClick, next[:2], next[2:])
		if board != "" {
			break
		}
	}
	for range 2 {
		q.reads(".turn", "Black won: checkmate.")
		q.reads(".result", "4 moves")
		q.reads(".on-air", "Finished")
		q.audit("result")
		q.open(h.url + "/watch/" + board)
	}
}

// TestSwitchOnAPhone: the next board slides in without widening the page, so that
// the bar at the bottom stays.
func TestSwitchOnAPhone(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, screen{width: 390, height: 844, touch: true, motion: true})
	p.sit(h.url)
	see[bool](p, `(() => {
		window.widest = 0;
		const look = () => { widest = Math.max(widest, innerWidth, document.documentElement.scrollWidth); requestAnimationFrame(look); };
		look();
		return true;
	})()`)
	for range 2 {
		p.playAny(byTouch)
	}
	if got := see[int](p, `widest`); got != 390 {
		t.Errorf("while boards were switched the page was %d pixels wide, want 390", got)
	}
}

// TestLandscape: on a phone in landscape all 64 squares are on the screen, and so are the
// links to the other views.
func TestLandscape(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	for _, s := range []screen{{width: 844, height: 390, touch: true},
		{width: 667, height: 375, touch: true, dark: true}} {
		p := meet(t, s)
		p.sit(h.url)
		p.audit("landscape")
		hidden := see[[]string](p, `(scrollTo(0, 0), [...document.querySelectorAll('.square, .ways a')].filter(e => {
			const b = e.getBoundingClientRect();
			return b.left < 0 || b.top < 0 || b.right > innerWidth || b.bottom > innerHeight || b.width < 20;
		}).map(e => e.dataset.square ?? e.textContent))`)
		if len(hidden) > 0 {
			t.Errorf("%d×%d: %v are not on the screen", s.width, s.height, hidden)
		}
	}
}

// TestKeyboardFocus: the focused square shows its piece, and the focus is on the
// next board after a move.
func TestKeyboardFocus(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	p.move(byKeys, "e2", "e4")
	if !see[bool](p, `Boolean(document.activeElement.closest('.squares'))`) {
		t.Error("after a move by keys the focus is lost")
	}
	p.keys(kb.ArrowUp, kb.ArrowDown)
	front := see[string](p, `(() => {
		const b = document.activeElement.getBoundingClientRect();
		document.querySelector('.men').style.pointerEvents = 'auto';
		return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2).closest('.man')?.dataset.man ?? 'no piece';
	})()`)
	if front != "P" && front != "p" {
		t.Errorf("on the focused square lies %s", front)
	}
	before := p.version()
	byKeys(p, "d2", "d4") // without focusing the board again
	p.answered(before)
}

// TestStaleTab: a tab whose session goes on in another one plays nothing, and announces no
// mate.
func TestStaleTab(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 1) (def max-boards 2)`))
	stale := meet(t, desk)
	stale.sit(h.url)
	for next := foolsMate(stale.fen()); next != "d8h4"; next = foolsMate(stale.fen()) {
		stale.move(byClick, next[:2], next[2:])
	}
	other := stale.another()
	other.onEveryPage(endStays)
	other.sit(h.url)
	stale.reads(".banner", "another tab")
	byClick(stale, "d8", "h4")
	byClick(other, "d8", "h4")
	other.reads(".result.end", "checkmate")
	if see[bool](stale, `document.querySelector('.result.end') !== null`) {
		t.Error("the stale tab announces a mate")
	}
}
