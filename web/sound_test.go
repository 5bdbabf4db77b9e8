package web_test

import (
	"fmt"
	"slices"
	"testing"
)

// listening counts the tones that a page plays, and whether it has prepared its speaker.
const listening = `window.tones = 0; window.speakers = 0;
	OscillatorNode.prototype.start = (start => function(...when) { tones++; return start.apply(this, when); })(OscillatorNode.prototype.start);
	window.AudioContext = class extends AudioContext { constructor(...how) { super(...how); speakers++; } };`

// TestSound: no sound by default; when it is switched on, one for the own move and another
// for the next board, and it stays on.
func TestSound(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	p := meet(t, desk)
	p.onEveryPage(listening)
	p.sit(h.url)
	heard := func() [2]int {
		t.Helper()
		return [2]int(see[[]int](p, `[tones, speakers]`))
	}
	p.playAny(byClick)
	if got, want := heard(), [2]int{0, 0}; got != want {
		t.Errorf("before anybody asks for sound: got %v tones and speakers, want %v", got, want)
	}
	p.press(`[aria-label="Turn sound on"]`)
	p.playAny(byClick)
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move with sound: got %v tones and speakers, want %v", got, want)
	}
	p.sit(h.url)
	p.playAny(byClick)
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move after coming back: got %v tones and speakers, want %v", got, want)
	}
	p.press(`[aria-label="Turn sound off"]`)
	p.playAny(byClick)
	if got, want := heard(), [2]int{2, 1}; got != want {
		t.Errorf("a move after the sound was switched off: got %v tones and speakers, want %v", got, want)
	}
}

// TestSounds: moves, captures, checks, wins and losses sound each in its own way.
func TestSounds(t *testing.T) {
	t.Parallel()
	const move, capture, check = 320, 200, 660
	win, loss := []int{523, 659, 784, 1047}, []int{392, 330, 262}
	listen := func() *person {
		h := serve(t, conf(alone)) // one board, so that no other arrives: TestSound covers that
		p := meet(t, desk)
		p.onEveryPage(`window.pitches = [];
			AudioParam.prototype.setValueAtTime = (set => function(value, ...when) { if (value > 20) pitches.push(value); return set.call(this, value, ...when); })(AudioParam.prototype.setValueAtTime);`)
		p.sit(h.url)
		p.press(`[aria-label="Turn sound on"]`)
		return p
	}
	p := listen()
	for _, tc := range []struct {
		uci  string
		want []int
	}{
		{"e2e4", []int{move}},
		{"d7d5", []int{move}},
		{"e4d5", []int{capture}},
		{"f7f6", []int{move}},
		{"d1h5", []int{move, check}},
	} {
		see[bool](p, `(pitches = [], true)`)
		p.move(byClick, tc.uci[:2], tc.uci[2:])
		if got := see[[]int](p, `pitches`); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.uci, got, tc.want)
		}
	}
	p = listen() // on a fresh board
	for _, uci := range []string{"f2f3", "e7e5", "g2g4"} {
		p.move(byClick, uci[:2], uci[2:])
	}
	see[bool](p, `(pitches = [], true)`)
	p.move(byClick, "d8", "h4")
	p.until(fmt.Sprintf(`pitches.includes(%d)`, loss[2])) // of White's moves, which the same player made
	got := see[[]int](p, `pitches`)
	if !slices.Equal(got[:5], append([]int{move}, win...)) || !slices.Contains(got, loss[0]) ||
		!slices.Contains(got, loss[1]) {
		t.Errorf("a mate: got %v, want %v, %v and %v", got, move, win, loss)
	}
}
