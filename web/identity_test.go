package web_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestIdentity: an identity is made, backed up, restored in another browser, and
// left.
func TestIdentity(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	ada := meet(t, desk)
	ada.sit(h.url)
	ada.move(byClick, "e2", "e4")
	ada.press(`.ways a[href="/you"]`)
	ada.press(".identity .main")
	ada.until(`document.querySelector('[data-words]')`)
	words := see[string](ada, `document.querySelector('[data-words]').dataset.words`)
	ada.shot("words")
	ada.audit("words")
	ada.press("dialog .main")
	ada.until(`document.querySelector('[data-identity="yes"] [data-handle^="h_"]')`)
	handle := see[string](ada, `document.querySelector('[data-handle]').dataset.handle`)
	ada.until(`document.querySelector('tr[data-self="yes"]')`)
	ada.shot("you")
	ada.audit("you")

	bob := meet(t, phone)
	bob.without("crypto.subtle") // as on plain http
	bob.open(h.url + "/you")
	bob.press(".identity button:not(.main)")
	bob.until(`document.querySelector('#words')`)
	bob.types("#words", "twelve words that are none at all")
	bob.press(`[data-action="restore"]`)
	bob.until(`document.querySelector('#bad-words')`)
	bob.audit("restore")
	see[bool](bob, `(document.querySelector('#words').value = '', true)`)
	bob.types("#words", words)
	bob.press(`[data-action="restore"]`)
	bob.until(`document.querySelector('[data-identity="yes"] [data-handle="` + handle + `"]')`)
	bob.shot("you-phone")

	bob.press(".identity .danger")
	bob.press(`[data-action="logout"]`)
	bob.until(`document.querySelector('[data-identity="no"] .main:not(:disabled)')`)
	if see[bool](bob, `localStorage.getItem('wamble.identity') !== null`) {
		t.Error("the key is still in the browser after the logout")
	}
}

// TestLeaderboard: the ranking has pages, two orders, and one's own row always.
func TestLeaderboard(t *testing.T) {
	h := serve(t, conf(`(def min-boards 40)`))
	release(t, h, 14, 150*time.Millisecond)
	p := meet(t, desk)
	p.sit(h.url)
	uci := anyMove(p.fen(), rand.New(rand.NewPCG(5, 5)))
	p.move(byClick, uci[:2], uci[2:4])
	p.press(`.ways a[href="/you"]`)
	p.until(`document.querySelectorAll('.leaderboard tbody tr').length >= 10`)
	p.until(`document.querySelectorAll('.leaderboard tr[data-self="yes"]').length === 1`)
	p.press(`.leaderboard [aria-label="Next page"]`)
	p.reads(".leaderboard .pager", "Page 2")
	p.until(`document.querySelectorAll('.leaderboard tr[data-self="yes"]').length === 1`)
	p.press(`.leaderboard .segments button:nth-child(2)`)
	p.reads(".leaderboard .pager", "Page 1")
}

// TestTerms: a profile with terms shows them, and plays after they are accepted.
func TestTerms(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8) (def tos-text "Be kind. Do not let a bot think for you.")`))
	p := meet(t, desk)
	p.open(h.url + "/")
	p.reads("dialog .terms", "Be kind.")
	p.shot("terms")
	p.audit("terms")
	p.press(`[data-action="accept"]`)
	p.until(`!document.querySelector('dialog')`)
	p.ready()
	board := p.board()
	p.move(byClick, "e2", "e4")
	if p.board() == board {
		t.Error("the move was not played")
	}
	p.open(h.url + "/")
	p.ready()
	if see[bool](p, `Boolean(document.querySelector('dialog'))`) {
		t.Error("the terms are shown again after they were accepted")
	}
}

// TestProfiles: the chooser leads to the other profiles of the server.
func TestProfiles(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(fmt.Sprintf(`(def min-boards 8) (defprofile red ((def advertise 1) (def port %d))) (defprofile blue ((def advertise 1) (def port %d)))`,
		freePort(t), freePort(t))))
	p := meet(t, desk)
	p.open(h.url + "/you")
	p.until(`document.querySelectorAll('[data-profile]').length === 2`)
	here := see[string](p, `location.origin`)
	p.press(`[data-profile] a`)
	p.ready()
	if there := see[string](p, `location.origin`); there == here {
		t.Errorf("the link leads to %s, where one already was", there)
	}
}
