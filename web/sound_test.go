package web_test

import (
	"math/rand/v2"
	"testing"
)

// listening counts the tones that a page plays, and whether it has made itself
// ready to.
const listening = `window.tones = 0; window.speakers = 0;
	OscillatorNode.prototype.start = (start => function(...when) { tones++; return start.apply(this, when); })(OscillatorNode.prototype.start);
	window.AudioContext = class extends AudioContext { constructor(...how) { super(...how); speakers++; } };`

// TestSound: silence by default; a knock for the own move and another for the
// next board when it is switched on, and it stays switched on.
func TestSound(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	p := meet(t, desk)
	p.onEveryPage(listening)
	p.sit(h.url)
	r := rand.New(rand.NewPCG(19, 19))
	move := func() {
		t.Helper()
		uci := anyMove(p.fen(), r)
		p.move(byClick, uci[:2], uci[2:4])
	}
	heard := func() [2]int {
		t.Helper()
		return [2]int(see[[]int](p, `[tones, speakers]`))
	}
	move()
	if got, want := heard(), [2]int{0, 0}; got != want {
		t.Errorf("before anybody asks for sound: got %v tones and speakers, want %v", got, want)
	}
	p.press(`[aria-label="Turn sound on"]`)
	move()
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move with sound: got %v tones and speakers, want %v", got, want)
	}
	p.sit(h.url)
	move()
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move after coming back: got %v tones and speakers, want %v", got, want)
	}
	p.press(`[aria-label="Turn sound off"]`)
	move()
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move after the sound was switched off: got %v tones and speakers, want %v", got, want)
	}
}
