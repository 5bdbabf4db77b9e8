package web_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"wamble/client"
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
	words := ada.askWords()
	ada.audit("words")
	handle := ada.keepWords()
	ada.until(`document.querySelector('tr[data-self="yes"]')`)
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
	bob.retypes("#words", words)
	bob.press(`[data-action="restore"]`)
	bob.until(`document.querySelector('[data-identity="yes"] [data-handle="` + handle + `"]')`)

	// Ada sees Bob's session, and ends it: its token is void, and Bob's browser, which has
	// the words, signs in anew.
	token := see[string](bob, `localStorage.getItem('wamble.token')`)
	ada.press(`[data-action="sessions"]`)
	ada.until(`document.querySelector('[data-sessions="2"]')`)
	ada.audit("sessions")
	ada.press(`[data-end]`)
	ada.reads(`#end-ask`, "signed out at once")
	ada.press(`[data-action="end"]`)
	ada.until(`document.querySelector('[data-sessions="1"]')`)
	bob.until(`localStorage.getItem('wamble.token') !== '` + token + `'`)
	bob.until(`document.querySelector('[data-identity="yes"] [data-handle="` + handle + `"]')`)

	bob.press(".identity .danger")
	bob.press(`[data-action="logout"]`)
	bob.until(`document.querySelector('[data-identity="no"] .main:not(:disabled)')`)
	if see[bool](bob, `localStorage.getItem('wamble.identity') !== null`) {
		t.Error("the key is still in the browser after the logout")
	}
}

// TestLeaderboard: the ranking has pages, several orders, and always the player's own row;
// that of the month shows the teams.
func TestLeaderboard(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 40) (def team-season 1)`))
	release(t, h, 14, 150*time.Millisecond)
	p := meet(t, desk)
	p.sit(h.url)
	p.playAny(byClick)
	p.press(`.ways a[href="/you"]`)
	p.until(`document.querySelectorAll('.leaderboard tbody tr').length >= 10`)
	p.until(`document.querySelectorAll('.leaderboard tr[data-self="yes"]').length === 1`)
	p.press(`.leaderboard [aria-label="Next page"]`)
	p.reads(".leaderboard .pager", "Page 2")
	p.until(`document.querySelectorAll('.leaderboard tr[data-self="yes"]').length === 1`)
	p.press(`.leaderboard .segments button:nth-child(3)`)
	p.reads(".leaderboard .pager", "Page 1")
	if see[bool](p, `Boolean(document.querySelector('.teams'))`) {
		t.Error("there are teams in the ranking of all times")
	}
	p.press(`.leaderboard .segments button:nth-child(2)`)
	p.reads(".leaderboard .teams", "This month you play for ")
	p.until(`document.querySelector('.leaderboard tr[data-self="yes"] .team')`)
	p.audit("teams")
}

// TestBotsHaveTheirRanking: programs are in a list of their own beside that of people.
func TestBotsHaveTheirRanking(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 4) (def house-bots 0)`))
	d := client.Dialer{Bot: true}
	bot, err := d.Dial(t.Context(), h.udp)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bot.Close() })
	if _, err := bot.Play(t.Context(), anyMove(bot.Board().FEN, rand.New(rand.NewPCG(1, 1)))); err != nil {
		t.Fatal(err)
	}
	p := meet(t, desk)
	p.sit(h.url)
	p.press(`.ways a[href="/you"]`)
	p.until(`document.querySelectorAll('.programs tbody tr').length === 1`)
	p.reads(".programs tbody", "program")
	p.until(`document.querySelectorAll('.leaderboard:not(.programs) tr[data-self="yes"]').length === 1`)
	if see[bool](p, `document.querySelector('.leaderboard:not(.programs) tbody').textContent.includes('program') || Boolean(document.querySelector('.programs tr[data-self="yes"]'))`) {
		t.Error("a program among people, or a person among programs")
	}
	p.audit("programs")
}

// TestTerms: a profile with terms shows them, and plays after they are accepted.
func TestTerms(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8) (def tos-text "Be kind. Do not let a bot think for you.")`))
	p := meet(t, desk)
	p.open(h.url + "/")
	p.reads("dialog .terms", "Be kind.")
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

// TestLoginInAnotherTab: a login gives the session a new token. The other tab, when it takes
// over again, uses that token and does not overwrite it.
func TestLoginInAnotherTab(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	first := meet(t, desk)
	first.sit(h.url)
	before := see[string](first, `localStorage.getItem('wamble.token')`)
	second := first.another()
	second.identify(h.url)
	token := see[string](second, `localStorage.getItem('wamble.token')`)
	if token == before {
		t.Fatal("the login gave no new token")
	}
	first.press(".banner button")
	first.until(`!document.querySelector('.banner')`)
	first.ready()
	if got := see[string](first, `localStorage.getItem('wamble.token')`); got != token {
		t.Error("the first tab has overwritten the token of the login")
	}
}

// TestName: an identity chooses a name, which all players see; one that is taken or invalid
// is refused in plain words. Guests are shown with a number and a colour.
func TestName(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	ada, bob, guest, other := meet(t, desk), meet(t, phone), meet(t, desk), meet(t, desk)
	for _, p := range []*person{guest, other} {
		p.sit(h.url)
		p.playAny(byClick)
	}
	for _, p := range []*person{ada, bob} {
		p.identify(h.url)
		p.press(`[data-action="rename"]`)
	}
	ada.types("#name", "Ada_L")
	ada.audit("name")
	ada.press(`[data-action="name"]`)
	ada.until(`document.querySelector('[data-handle="Ada_L"]') && !document.querySelector('dialog')`)
	ada.press(`.ways a[href="/"]`)
	ada.ready()
	ada.playAny(byClick)
	ada.press(`.ways a[href="/you"]`)
	ada.reads("tr[data-self]", "Ada_L")
	ada.reads(".leaderboard", "Guest ")
	ada.press(`.leaderboard .segments button:nth-child(2)`)
	ada.until(`document.querySelector('.segments [aria-pressed="true"]').textContent === 'This month'`)
	ada.until(`!document.querySelector('.leaderboard').textContent.includes('cannot be shown')`)
	ada.press(`.leaderboard .segments button:nth-child(1)`)
	ada.reads(".leaderboard", "Guest ")
	// A player who was a guest a moment ago may still be listed as one.
	colours := see[[]int](ada, `(all => [all.map(e => e.textContent), all.map(e => getComputedStyle(e).color)].map(of => new Set(of).size))(
		[...document.querySelectorAll('.leaderboard td span')].filter(e => /^Guest |^Ada_L/.test(e.textContent)))`)
	if colours[0] < 3 || colours[1] != colours[0] {
		t.Errorf("guests and somebody with a name, %d in all, have %d colours", colours[0], colours[1])
	}
	ada.audit("ranking with names")

	bob.types("#name", "x")
	bob.press(`[data-action="name"]`)
	bob.reads("#bad-name", "3 to 20 letters")
	bob.types("#name", kb.Backspace+"ada_l")
	bob.press(`[data-action="name"]`)
	bob.reads("#bad-name", "this name is taken")
	bob.audit("a name that is taken")
}

// TestNoIdentityOnOpenPage: on a page without encryption from another machine no identity is
// made, and the page says why.
func TestNoIdentityOnOpenPage(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 4)`))
	ada := meet(t, desk)
	ada.open(strings.Replace(h.url, "127.0.0.1", "plain.example", 1) + "/you")
	ada.reads("[data-open-page]", "not encrypted")
	ada.until(`document.querySelector('[data-identity="no"]')`)
	if see[bool](ada, `document.querySelector('.identity button') !== null`) {
		t.Error("an identity can be made or restored there")
	}
	ada.audit("open-page")
}
