package web_test

import "testing"

// TestVisitorsTakeNoBoard: a visitor of the wall, a board, the finished games or the ranking
// is no player and holds no board; they get one when they come to play.
func TestVisitorsTakeNoBoard(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 2) (def max-boards 2) (def prediction-mode "streak")`))
	visitor, player := meet(t, desk), meet(t, desk)
	player.sit(h.url)
	board := player.board()
	for _, page := range [][2]string{
		{"/watch/" + board, ".board.mine"}, {"/watch", ".tile canvas[data-fen]"}, {"/board/" + board, "a[download]"},
		{"/finished", "h1"}, {"/you", ".leaderboard"}, {"/trail", "h1"},
	} {
		visitor.open(h.url + page[0])
		visitor.until(`document.querySelector('` + page[1] + `')`)
	}
	reserved := await[int](visitor, `fetch('/api/live').then(r => r.json()).then(l => l.boards.reserved)`)
	if reserved != 1 {
		t.Errorf("%d boards are reserved, want that of the player alone", reserved)
	}
	visitor.press(`.ways a[href="/"]`)
	visitor.move(byClick, "e2", "e4")
}

// TestPageHidden: a page that is closed gives its board back at once. One that comes back
// from the browser's cache has it again, unless another player does.
func TestPageHidden(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p, q := meet(t, desk), meet(t, desk)
	p.sit(h.url)
	token := see[string](p, `localStorage.getItem('wamble.token')`)
	before := p.version()
	see[bool](p, `(dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true})), dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true})), true)`)
	p.answered(before)
	p.move(byClick, "e2", "e4")
	p.open("about:blank")
	q.sit(h.url)
	q.move(byClick, "e7", "e5")
	p.open(h.url + "/")
	p.reads(".waiting", "Every board is being played on")
	if got := see[string](p, `localStorage.getItem('wamble.token')`); got != token {
		t.Error("the visitor is a new player")
	}
	q.open("about:blank")
	p.ready()
	p.reads(".trail", "answered e5")
}
