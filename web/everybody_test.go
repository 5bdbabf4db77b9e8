package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"wamble/internal/prooftest"
)

// heard is what a screen reader finds: the roles and names of the accessibility
// tree, and the texts of what is read out when it changes.
func (p *person) heard() string {
	p.t.Helper()
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		p.t.Fatal(err)
	}
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

// TestBlind: somebody who sees nothing types moves, hears where she is and what
// was played last, and asks for the pieces and the clocks, all by keys.
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
		p.reads(".typed [role=status]", tc.heard) // the story says the last move as well
		p.hears(tc.heard)
	}
	p.audit("typed")
}

// squaresDiffer holds when a4 and b4 have different colours on each board that is drawn.
const squaresDiffer = `[...document.querySelectorAll('.tile canvas')].every(canvas => {
	const size = canvas.width / 8;
	const two = canvas.getContext('2d').getImageData(size / 2, 4.5 * size, size + 1, 1).data;
	return two.slice(0, 4).join() !== two.slice(-4).join();
})`

// currentMarked holds when the current one of a list has an outline, where there are no
// backgrounds.
const currentMarked = `!matchMedia('(forced-colors: active)').matches ||
	[...document.querySelectorAll('button[aria-current]')].every(e => getComputedStyle(e).outlineStyle === 'solid')`

// TestZoomAndContrast: at 200 % zoom the whole board is on the screen; with more contrast
// and with forced colours the board, the wall, the map, a watched board, a game, the past,
// the trail and the page about oneself pass, and every board has squares.
func TestZoomAndContrast(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	other, p := meet(t, desk), meet(t, screen{width: 640, height: 400}) // 1280×800 at 200 %
	other.sit(h.url)
	watched := other.board()
	p.sit(h.url)
	p.shot("zoom-200")
	p.audit("zoom")
	if n := see[int](p, `(scrollTo(0, 0), [...document.querySelectorAll('.square')].filter(e => e.getBoundingClientRect().bottom > innerHeight).length)`); n > 0 {
		t.Errorf("at 200 %% zoom %d squares are below the screen", n)
	}
	board := p.board()
	p.move(byClick, "e2", "e4")
	made := await[string](p, fmt.Sprintf(`fetch('/api/boards/%s').then(r => r.json()).then(g => g.moves[0].at)`, board))
	at, err := time.Parse(time.RFC3339Nano, made)
	if err != nil {
		t.Fatal(err)
	}
	at = at.UTC().Truncate(time.Second).Add(time.Second)
	p.until(fmt.Sprintf(`Date.now() > %d`, at.UnixMilli()))
	views := []struct{ name, path, shown string }{
		{"wall", "/watch", `document.querySelector('.rewind input') && document.querySelector('.tile canvas')?.dataset.fen`},
		{"map", "/map", `+document.querySelector('[data-boards]')?.dataset.boards > 0`},
		{"focus", "/watch/" + watched, `document.querySelector('[data-man="P"]')`},
		{"game", "/board/" + board, `document.querySelector('.moves li')`},
		{"past", "/at/" + at.Format(time.RFC3339), fmt.Sprintf(`document.querySelector('.tile[data-board="%s"] canvas')?.dataset.fen`, board)},
		{"trail", "/trail", fmt.Sprintf(`document.querySelector('.trail-page [data-board="%s"] canvas[data-marked="e2e4"]')`, board)},
		{"you", "/you", `document.querySelector('.identity .main')`},
	}
	tour := func(how string) {
		t.Helper()
		for _, v := range views {
			p.open(h.url + v.path)
			p.until(v.shown)
			p.shot(v.name + "-" + how)
			p.audit(v.name + " " + how)
			if !see[bool](p, squaresDiffer) {
				t.Errorf("%s %s: a board has no squares", v.name, how)
			}
			if !see[bool](p, currentMarked) {
				t.Errorf("%s %s: the move that is shown is not marked", v.name, how)
			}
		}
	}
	p.look(desk)
	for _, feature := range []string{"prefers-contrast more", "forced-colors active"} {
		for _, scheme := range []string{"light", "dark"} {
			name, value, _ := strings.Cut(feature, " ")
			media := []*emulation.MediaFeature{{Name: name, Value: value}, {Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
			if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media}); err != nil {
				t.Fatal(err)
			}
			p.sit(h.url)
			p.shot(name + "-" + scheme)
			p.audit(feature + " " + scheme)
			if (name == "forced-colors") == (scheme == "dark") || prooftest.Soaking() {
				tour(name + "-" + scheme)
			}
		}
	}
}

// TestLanguages: the page speaks the language of the browser or of the settings,
// and nothing of it is English; laid out from right to left it fits as well.
func TestLanguages(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	for lang, want := range map[string]string{"de": "Du spielst Weiß", "fr": "Vous jouez les Blancs", "es": "Juegas con blancas"} {
		p := meet(t, phone)
		p.onEveryPage(`Object.defineProperty(navigator, 'languages', {value: ['` + lang + `-XX', 'en']})`)
		p.sit(h.url)
		p.reads(".turn", want)
		if got := see[string](p, `document.documentElement.lang`); got != lang {
			t.Errorf("the page says that it speaks %s, want %s", got, lang)
		}
		p.shot("play-" + lang)
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
	p.do(chromedp.SetValue(chromedp.CSS(`[data-setting="language"]`), "de"))
	p.reads(".turn", "Du spielst")
}
