package web_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// alone is a server with one board: its player plays both sides.
const alone = `(def min-boards 1) (def max-boards 1)`

// sit opens the page and waits for a board on which it is the person's turn.
func (p *person) sit(url string) {
	p.t.Helper()
	p.url = url
	p.open(url + "/")
	p.ready()
}

// readyStage is true when a move can be made, and the board has come to rest.
const readyStage = `(document.querySelector('.stage[data-ready="yes"]') && document.querySelector('.slide').getAnimations().length === 0)`

// ready waits until a move can be made.
func (p *person) ready() {
	p.t.Helper()
	p.until(readyStage)
}

// board returns the number of the person's board.
func (p *person) board() string {
	p.t.Helper()
	return see[string](p, `document.querySelector('.stage').dataset.board`)
}

func square(name string) string { return fmt.Sprintf(`[data-square="%s"]`, name) }

// hand makes a move in one of the ways that the client offers.
type hand func(p *person, from, to string)

func byClick(p *person, from, to string) {
	p.press(square(from))
	p.press(square(to))
}

func byDrag(p *person, from, to string) {
	x, y := p.middle(square(from))
	tox, toy := p.middle(square(to))
	p.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, (x+tox)/2, (y+toy)/2)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, tox, toy)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, tox, toy)
}

func byTouch(p *person, from, to string) {
	for _, s := range []string{from, to} {
		x, y := p.middle(square(s))
		p.do(chromedp.TapXY(x, y))
	}
}

// byKeys moves the focus with the arrows from square to square.
func byKeys(p *person, from, to string) {
	see[bool](p, `(document.querySelector('[role="gridcell"][tabindex="0"]').focus(), true)`)
	for _, s := range []string{from, to} {
		for {
			at := see[string](p, `document.activeElement.dataset.square ?? ''`)
			if at == "" {
				p.t.Fatal("the focus has left the board")
			}
			if at == s {
				break
			}
			white := see[string](p, `document.querySelector('.square').dataset.square`) == "a8"
			p.keys(arrow(at, s, white))
		}
		p.keys(kb.Enter)
	}
}

func arrow(at, to string, white bool) string {
	right, up := at[0] < to[0], at[1] < to[1]
	switch {
	case at[0] != to[0] && right == white:
		return kb.ArrowRight
	case at[0] != to[0]:
		return kb.ArrowLeft
	case up == white:
		return kb.ArrowUp
	default:
		return kb.ArrowDown
	}
}

// move makes a move and waits until the server has answered it.
func (p *person) move(by hand, from, to string) {
	p.t.Helper()
	p.ready()
	before := p.version()
	by(p, from, to)
	p.answered(before)
}

// playAny makes a legal move, the same one in the same position.
func (p *person) playAny(by hand) {
	p.t.Helper()
	uci := anyMove(p.fen(), rand.New(rand.NewPCG(1, 1)))
	p.move(by, uci[:2], uci[2:4])
}

// version returns the number of the board on show and its state.
func (p *person) version() string {
	p.t.Helper()
	return see[string](p, stageVersion)
}

const stageVersion = `(() => { const d = document.querySelector('.stage').dataset; return d.board + '/' + d.version; })()`

// answered waits until another state is on show and a move can be made.
func (p *person) answered(before string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s && %s !== %q", readyStage, stageVersion, before))
}

// TestHands: every way to move, and a promotion at the end.
func TestHands(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(alone))
	p := meet(t, desk)
	p.sit(h.url)
	p.audit("play")
	p.move(byClick, "h2", "h4")
	p.move(byDrag, "g7", "g5")
	p.move(byKeys, "h4", "g5")
	p.move(byClick, "h7", "h6")
	p.move(byDrag, "g5", "h6")
	p.move(byKeys, "g8", "f6")
	p.move(byClick, "h6", "h7")
	p.move(byClick, "f6", "g8")
	before := p.version()
	byDrag(p, "h7", "g8")
	p.until(`document.querySelector('[role="dialog"].promotion')`)
	if wide, want := see[[]float64](p,
		`[document.querySelector('.promotion button').getBoundingClientRect().width, document.querySelector('.square').getBoundingClientRect().width]`), 0.95; wide[0] < want*wide[1] {
		t.Errorf("a piece to promote to is %.0f pixels wide, a square %.0f", wide[0], wide[1])
	}
	p.press(`.promotion [data-kind="n"]`)
	p.answered(before)
	p.until(`document.querySelector('[data-man="N"][data-at="g8"]')`)
	if got, want := see[int](p, `+document.querySelector('[data-number="moves"]').textContent`), 9; got != want {
		t.Errorf("the panel counts %d moves, want %d", got, want)
	}
}

// TestPayout: two players play with each other until one of them has a share in a won game:
// they are told so, and see their score grow.
func TestPayout(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 3) (def max-boards 3)`))
	both := []*person{meet(t, desk), meet(t, desk)}
	for _, p := range both {
		p.sit(h.url)
	}
	for range 60 {
		for _, p := range both {
			next := foolsMate(p.fen())
			p.move(byClick, next[:2], next[2:])
			if next != "d8h4" {
				continue
			}
			for _, winner := range both {
				if see[bool](winner, saying("toast good: ", "your moves won")) {
					winner.until(`parseFloat(document.querySelector('[data-number="score"]').textContent) > 0`)
					return
				}
			}
		}
	}
	t.Fatal("no game that two have played was won")
}

// foolsMate returns the next move on the shortest way to a mate.
func foolsMate(fen string) string {
	placement, _, _ := strings.Cut(fen, " ")
	switch placement {
	case "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR":
		return "f2f3"
	case "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR":
		return "e7e5"
	case "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR":
		return "g2g4"
	}
	return "d8h4"
}
