package web_test

import (
	"fmt"
	"testing"
)

// identify gives a person an identity, and returns its handle.
func (p *person) identify(url string) string {
	p.t.Helper()
	p.open(url + "/you")
	p.askWords()
	return p.keepWords()
}

// askWords asks for an identity, and returns the words that are shown.
func (p *person) askWords() string {
	p.t.Helper()
	p.press(".identity .main")
	return obtain[string](p, `document.querySelector('[data-words]')?.dataset.words ?? null`)
}

// keepWords confirms that the words are written down, and returns the handle of the identity.
func (p *person) keepWords() string {
	p.t.Helper()
	p.press("dialog .main")
	return obtain[string](p, `document.querySelector('[data-identity="yes"] [data-handle^="h_"]')?.dataset.handle ?? null`)
}

// speak sets the language of every page that is opened from now on.
func (p *person) speak(lang string) {
	p.t.Helper()
	see[bool](p, fmt.Sprintf(`(localStorage.setItem('wamble.settings', JSON.stringify({language: %q})), true)`, lang))
}

// TestNames: a held board shows its player, and the card of a mate shows who has moved there,
// to its player and to watchers: that player first, guests in their colours, three by name
// and the number of the others.
func TestNames(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	visitor := meet(t, phone)
	people := make([]*person, 4)
	handle := ""
	for i := range people {
		p := meet(t, screen{width: 1280, height: 800})
		people[i] = p
		switch i {
		case 0:
			p.sit(h.url)
			visitor.open(h.url + "/watch")
			visitor.reads(".featured .thinks", "Guest 1 is thinking") // the first session of this server
			visitor.until(`document.querySelector('.tile .pulse[title="Guest 1 is thinking"]')`)
			continue
		case 3:
			handle = p.identify(h.url)
			p.onEveryPage(endStays)
		}
		p.open(h.url)
		p.reads(".waiting", "Every board is being played on")
	}
	ada, board := people[3], people[0].board()
	visitor.open(h.url + "/watch/" + board)
	visitor.reads(".on-air", "Live")
	visitor.reads(".panel .thinks", "Guest 1 is thinking")
	for i, m := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
		people[i].front()
		people[i].ready()
		byClick(people[i], m[:2], m[2:])
	}
	ada.reads(".result.end .movers", handle+", Guest ")
	moved := await[[]int](ada,
		fmt.Sprintf(`fetch('/api/boards/%s').then(r => r.json()).then(g => g.moves.map(m => m.session))`, board))
	want := fmt.Sprintf("%s, Guest %d, Guest %d, and 1 more moved here", handle, moved[2], moved[1])
	ada.reads(".result.end .movers", want)
	ada.audit("names on the card of a mate")
	ada.uncovered("e1", "h4")
	visitor.front()
	visitor.reads(".result .movers", want)
	if see[bool](visitor, `Boolean(document.querySelector('.thinks'))`) {
		t.Error("somebody thinks though the game is over")
	}
	if n := see[int](visitor,
		`[...document.querySelectorAll('.result .movers [style*="color"]')].filter(e => e.textContent.startsWith('Guest ')).length`); n != 2 {
		t.Errorf("%d guests have a colour, want 2", n)
	}
	for lang, said := range map[string]string{
		"en": "and 1 more moved here", "de": "und 1 weitere Person haben hier gezogen", "fr": "et 1 autre ont joué ici",
		"es": "y 1 más jugaron aquí",
	} {
		visitor.speak(lang)
		visitor.open(h.url + "/watch/" + board)
		visitor.reads(".result .movers", handle+", ")
		visitor.reads(".result .movers", said)
		visitor.uncovered("e1", "h4")
	}
	visitor.audit("names on the card of a watched board")
	visitor.speak("en")
	visitor.open(h.url + "/board/" + board)
	visitor.reads(".facts .movers", want)
}
