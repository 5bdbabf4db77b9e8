package web_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestRefusedMove: a move that the server refuses is taken back: it is told, it
// counts nowhere, and the board can be moved on again when the host allows it.
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
	p.reads(".toast.bad", "e4")
	p.reads(".toast.bad", "does not allow")
	p.until(`document.querySelector('[data-man="P"][data-at="e2"]')`)
	p.reads(".turn", "may not move")
	if got := see[string](p, `document.querySelector('[data-number="moves"]').textContent + document.querySelector('.trail').textContent`); got != "0Your trailYour moves will appear here, each on a board of its own." {
		t.Errorf("a refused move is counted: %q", got)
	}
	h.write(open)
	h.tell("reload")
	see[bool](p, `(document.dispatchEvent(new Event('visibilitychange')), true)`) // which says hello
	p.ready()
	if got := p.board(); got != board {
		t.Errorf("the board is %s, want %s", got, board)
	}
	p.move(byClick, "e2", "e4")
	p.reads(".trail", "Board "+board)
}

// TestTurnedAway: who is banned, and who comes while nobody new is taken, reads
// why on every page, and not that the connection was lost.
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
			p.forgive("Failed to load resource") // what a banned reader asks for
			p.open(h.url + "/")
			p.reads(".waiting", tc.want)
			p.shot("turned-away-" + tc.name)
			p.open(h.url + "/watch")
			p.reads(".banner", tc.want)
			p.do(chromedp.Sleep(time.Second)) // longer than a lost connection is hidden for
			if text := see[string](p, `document.body.textContent`); strings.Contains(text, "Connection lost") {
				t.Errorf("the page says %q", text)
			}
		})
	}
}

// TestReadOnlyTold: while the server takes no moves the page says so, keeps the
// move, and sends it afterwards.
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

// TestBoardTaken: a player whose board is gone reads what became of it: the host
// has ended the game, or his time was over.
func TestBoardTaken(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	board := p.board()
	h.tell("archive", board)
	p.reads(".toast", "The host has ended the game on board "+board)

	h = serve(t, conf(`(def min-boards 8) (def reservation-timeout 2)`))
	q := meet(t, desk)
	q.sit(h.url)
	q.reads(".toast", "Your time for board")
}

// TestAnnouncementStays: what the host announces stays until it is closed.
func TestAnnouncementStays(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.onEveryPage(`(real => { window.setTimeout = (f, ms, ...more) => real(f, ms >= 4000 && ms <= 9000 ? 0 : ms, ...more); })(window.setTimeout)`)
	p.sit(h.url)
	h.tell("announce", "We play until midnight.")
	h.tell("announce", "--maintenance", "A new version comes.")
	p.reads(".toast", "A new version comes.")
	p.do(chromedp.Sleep(300 * time.Millisecond)) // any other message is gone by then
	p.reads(".toast", "We play until midnight.")
	p.shot("announcement")
	p.audit("announcement")
	p.press(".toast button")
	p.press(".toast button")
	p.until(`!document.querySelector('.toast')`)
}

// TestNothingThere: an address without a page, or without a board, is a page with
// a way out, and the status says so.
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
	p.shot("nothing")
	p.press(`.nothing .main`)
	p.ready()
}

// TestDeclinedTerms: who declines the terms is told the truth, cannot move, and
// may think again.
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

// TestQuietNumbers: numbers that are loaded do not flash as if they had just been
// won, and the count of those who are here is nothing that is read out.
func TestQuietNumbers(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.onEveryPage(`window.flashes = []; addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
		for (const e of document.querySelectorAll('.moving em')) flashes.push(e.textContent);
	}).observe(document.body, {childList: true, subtree: true}));`)
	p.sit(h.url)
	for range 3 {
		uci := anyMove(p.fen(), rand.New(rand.NewPCG(1, 1)))
		p.move(byClick, uci[:2], uci[2:4])
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
