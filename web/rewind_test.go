package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestRewind: the slider under the wall leads into the past, whose boards are as they were at
// each second; keys move it, it can play on, and each moment has an address.
func TestRewind(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p := meet(t, screen{width: 1280, height: 800})
	p.sit(h.url)
	board := p.board()
	for _, m := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		p.move(byClick, m[:2], m[2:])
		see[bool](p, `(window.second = Math.floor(Date.now() / 1000), true)`)
		p.until(`Math.floor(Date.now() / 1000) > second`) // each move is in a second of its own
	}
	p.untilPromise(fmt.Sprintf(`fetch('/api/boards/%s').then(r => r.json()).then(g => !!g.result)`, board))
	at := await[[]string](p, fmt.Sprintf(`fetch('/api/boards/%s').then(r => r.json()).then(g => g.moves.map(m => m.at))`, board))
	if len(at) != 4 {
		t.Fatalf("the game has moves at %v", at)
	}
	// after returns the path of the first whole second after a move.
	after := func(move int) string {
		made, err := time.Parse(time.RFC3339Nano, at[move-1])
		if err != nil {
			t.Fatal(err)
		}
		return "/at/" + made.UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339)
	}
	stands := func(placement string) string {
		return fmt.Sprintf(`document.querySelector('.tile[data-board="%s"] canvas')?.dataset.fen?.split(' ')[0] === %q`,
			board, placement)
	}

	p.open(h.url + "/watch")
	p.until(`document.querySelector('.rewind input')`)
	p.audit("wall with its past")
	see[bool](p, `(document.querySelector('.rewind input').focus(), true)`)
	p.keys(kb.ArrowLeft)
	p.until(`location.pathname.startsWith('/at/') && document.querySelector('[data-at]')`)

	for move, placement := range []string{
		"rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR", "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR",
		"rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR",
	} {
		p.open(h.url + after(move+1))
		p.until(stands(placement))
	}
	// One second on, by a key.
	path := see[string](p, `location.pathname`)
	p.until(`document.querySelector('.rewind input')`) // shown once the server's first game is known
	see[bool](p, `(document.querySelector('.rewind input').focus(), true)`)
	p.keys(kb.ArrowRight)
	p.until(fmt.Sprintf(`location.pathname > %q && document.querySelector('.rewind input').ariaValueText`, path))
	// From the first move on it plays as it was.
	p.open(h.url + after(1))
	p.until(stands("rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR"))
	p.press(`[aria-label="Play on from here"]`)
	p.until(stands("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR"))
	p.press(`[aria-label="Pause"]`)
	p.until(fmt.Sprintf(`location.pathname >= %q`, after(3)))
	p.open(h.url + after(4))
	p.reads(fmt.Sprintf(`.tile[data-board="%s"]`, board), "0–1")
	p.reads(fmt.Sprintf(`.tile[data-board="%s"] [title="Black won: checkmate."]`, board), "checkmate")
	p.audit("the past")

	q := meet(t, phone)
	q.open(h.url + after(4)) // the address is for others, too
	q.until(stands("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR"))
	q.audit("the past on a phone")
	if !strings.Contains(see[string](q, `document.querySelector('h1').textContent`), ":") {
		t.Error("the page does not say its time")
	}
}

// TestRewindHasMore: a page of the past without all boards says so, and loads the others on
// request.
func TestRewindHasMore(t *testing.T) {
	t.Parallel()
	const boards = 700
	h := serve(t, conf(fmt.Sprintf("(def min-boards %d) (def max-boards %[1]d)", boards)))
	p := meet(t, screen{width: 1280, height: 800})
	p.open(h.url + "/watch")
	p.untilPromise(fmt.Sprintf(`fetch('/api/live').then(r => r.json()).then(l => l.boards.total === %d)`, boards))
	p.open(h.url + "/at/" + time.Now().UTC().Add(time.Second).Format(time.RFC3339))
	p.until(`document.querySelector('[data-boards="512"]')`)
	p.reads(`[data-boards]`, "512 boards and more")
	p.press(`[data-more]`)
	p.until(fmt.Sprintf(`document.querySelector('[data-boards="%d"]')`, boards))
	p.reads(`[data-boards]`, fmt.Sprintf("%d boards", boards))
	p.until(`!document.querySelector('[data-more]')`)
}
