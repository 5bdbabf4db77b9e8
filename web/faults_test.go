package web_test

import (
	"testing"
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
