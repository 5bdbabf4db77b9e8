//go:build proof

package web_test

import (
	"testing"
	"time"

	"wamble/internal/prooftest"
)

// TestPhone: every view fits on a small phone, light and dark, and passes the accessibility
// audit there.
func TestPhone(t *testing.T) {
	prooftest.Needs(t, "minutes")
	t.Parallel()
	h := serve(t, conf(crowded))
	release(t, h, 8, 200*time.Millisecond)
	for _, s := range []screen{
		{width: 360, height: 640, touch: true, dark: true},
		{width: 320, height: 568, touch: true},
	} {
		p := meet(t, s)
		look := func(view string) {
			t.Helper()
			p.shot("phone-" + view + map[bool]string{true: "-dark"}[s.dark])
			p.audit(view)
		}
		p.sit(h.url)
		p.playAny(byTouch)
		look("play")
		p.press(`.ways a[href="/watch"]`)
		p.until(`wambleWall.painted >= 50`)
		look("watch")
		p.press(`.segments button:nth-child(3)`)
		p.until(all960)
		p.press("a.tile:has(.faint > span:first-child:not(:empty))") // another player has moved there: one's own board may be a new one
		p.until(`document.querySelectorAll('.moves li').length >= 1`)
		p.reads(".tag", "Chess960")
		look("focus")
		p.press(`.tools a[href^="/board/"]`)
		p.until(`document.querySelector('a[download]')`)
		look("game")
		p.press(`.ways a[href="/you"]`)
		p.until(`document.querySelectorAll('.leaderboard tbody tr').length >= 3`)
		look("you")
		h.console(p)
		p.until(`document.querySelectorAll('.uplot').length === 3`)
		look("console")
	}
}
