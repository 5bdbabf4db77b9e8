package web_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp/kb"
)

// heard returns what a screen reader finds: the roles and names of the accessibility tree,
// and the texts of live regions.
func (p *person) heard() string {
	p.t.Helper()
	tree := call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	var b strings.Builder
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil || n.Name == nil {
			continue
		}
		b.WriteString(strings.Trim(string(n.Role.Value), `"`) + ": " + strings.Trim(string(n.Name.Value), `"`) + "\n")
	}
	return b.String()
}

// hears waits until a screen reader finds a text.
func (p *person) hears(text string) {
	p.t.Helper()
	eventually(p.t, "in the accessibility tree: "+text, func() bool { return strings.Contains(p.heard(), text) })
}

// TestBlind: a blind player types moves, hears their board and the last move, and asks for
// the pieces and the clocks, all by keys.
func TestBlind(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p := meet(t, desk)
	p.sit(h.url)
	board := p.board()
	p.hears("grid: Board " + board + ". You play White.")
	p.hears("textbox: Type a move")
	p.hears("Board " + board + ": you are White.")
	say := func(text string) {
		t.Helper()
		p.types(".typed input", text+kb.Enter)
	}
	for _, tc := range []struct{ text, heard string }{
		{"l", "No move was made yet."},
		{"Nf6", "Nf6 is no legal move here."},
		{"p", "White: king e1, queen d1, rook a1 h1, bishop c1 f1, knight b1 g1, pawn a2 b2 c2 d2 e2 f2 g2 h2."},
		{"c", "Move 1. The board has been yours for"},
		{"Nf3", "you are Black. Last move: white knight to f3."},
		{"e7e5", "you are White. Last move: black pawn to e5."},
		{"l", "Last move: black pawn to e5."},
	} {
		say(tc.text)
		p.hears(tc.heard)
	}
	if got := see[string](p, `document.activeElement.tagName`); got != "INPUT" {
		t.Errorf("after a move the focus is on %s", got)
	}
	p.keys(kb.Escape)
	see[bool](p, `(document.querySelector('[role="gridcell"][tabindex="0"]').focus(), true)`)
	for _, tc := range []struct{ key, heard string }{
		{"p", "pawn e5 a7 b7 c7 d7 f7 g7 h7."}, {"l", "Last move: black pawn to e5."}, {"c", "Move 2. The board has been yours for"},
	} {
		p.keys(tc.key)
		p.reads(".typed [role=status]", tc.heard) // the story shows the last move as well
		p.hears(tc.heard)
	}
	p.audit("typed")
}

// TestLanguages: the page uses the language of the browser or of the settings, with no
// English left; laid out from right to left it fits as well.
func TestLanguages(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	for lang, want := range map[string]string{"de": "Du spielst Weiß", "fr": "Vous jouez les Blancs",
		"es": "Juegas con blancas"} {
		p := meet(t, phone)
		p.onEveryPage(`Object.defineProperty(navigator, 'languages', {value: ['` + lang + `-XX', 'en']})`)
		p.sit(h.url)
		p.reads(".turn", want)
		if got := see[string](p, `document.documentElement.lang`); got != lang {
			t.Errorf("the page says that it speaks %s, want %s", got, lang)
		}
		p.audit(lang)
		see[bool](p, `(document.documentElement.dir = 'rtl', true)`)
		p.audit(lang + " from right to left")
		if !see[bool](p, `document.querySelector('[data-square="a8"]').getBoundingClientRect().left < document.querySelector('[data-square="h8"]').getBoundingClientRect().left`) {
			t.Error("from right to left the board is mirrored")
		}
	}
	p := meet(t, desk)
	p.sit(h.url)
	p.press(`.top .icon`)
	p.focus(`[data-setting="language"]`)
	p.keys("D")
	p.reads(".turn", "Du spielst")
}
