package web_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
)

// outage accepts what the browser logs about a server that is down, or just starts: each
// request that fails, whatever the client makes of it.
func (p *person) outage() {
	p.forgive("WebSocket connection to")
	p.forgive("Failed to load resource")
}

// TestKill: the server crashes and comes back; the player keeps the board, and a
// move made meanwhile is sent.
func TestKill(t *testing.T) {
	t.Parallel()
	h := serve(t, at(freePort(t), conf(`(def min-boards 8)`)))
	p := meet(t, desk)
	p.outage()
	p.sit(h.url)
	p.move(byClick, "e2", "e4")
	board := p.board()
	h.kill()
	p.until(`document.querySelector('.banner.bad')`)
	byClick(p, "d2", "d4")
	p.reads(".banner", "will be sent")
	h.start()
	p.until(`!document.querySelector('.banner')`)
	p.ready()
	if p.board() == board {
		t.Errorf("the move on board %s was not sent", board)
	}
	p.reads(".trail", "Board "+board)
	if n := see[int](p, `+document.querySelector('[data-number="moves"]').textContent`); n != 2 {
		t.Errorf("the panel counts %d moves, want 2", n)
	}
}

// TestHandoff: the server replaces itself; the player keeps the board and plays on, without a
// message.
func TestHandoff(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	crowd := release(t, h, 4, 100*time.Millisecond)
	p := meet(t, desk)
	p.sit(h.url)
	for i := range 2 {
		p.playAny(byClick)
		board := p.board()

		h.handOff()
		if got := p.board(); got != board {
			t.Errorf("after handoff %d the board is %s, want %s", i+1, got, board)
		}
		p.playAny(byClick)
		if p.board() == board {
			t.Errorf("after handoff %d the move was not played", i+1)
		}
	}
	before := crowd.moves.Load()
	eventually(t, "the bots play on", func() bool { return crowd.moves.Load() > before })
}

// TestReload: a player who reloads the page is on the same board.
func TestReload(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	p.move(byClick, "e2", "e4")
	board := p.board()
	see[bool](p, `(window.old = true)`)
	call(p, page.Reload, page.ReloadParams{})
	p.until(`!window.old`)
	p.ready()
	if got := p.board(); got != board {
		t.Errorf("after a reload the board is %s, want %s", got, board)
	}
}

// TestTwoTabs: a second tab of the same browser takes over, and gives back.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	first := meet(t, desk)
	first.sit(h.url)
	board := first.board()
	second := first.another()
	second.sit(h.url)
	if got := second.board(); got != board {
		t.Errorf("the second tab has board %s, want %s", got, board)
	}
	first.reads(".banner", "another tab")
	second.move(byClick, "e2", "e4")
	first.press(".banner button")
	first.until(`!document.querySelector('.banner')`)
	second.reads(".banner", "another tab")
	first.until(fmt.Sprintf("document.querySelector('.stage').dataset.board === %q", second.board()))
	first.ready()
}
