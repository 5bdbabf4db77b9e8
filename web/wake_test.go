package web_test

import (
	"math/rand/v2"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// impatient removes every timer by which a page would notice a silent server, so that only
// the wake-up brings it back.
const impatient = `(real => { window.setTimeout = (f, ms, ...more) => ms >= 10000 ? 0 : real(f, ms, ...more); })(window.setTimeout)`

// TestWake: the connection is lost without a close while the page or the machine sleeps, or
// the network changes. The page finds out when it wakes, the player keeps the board, and the
// move that was made meanwhile is played.
func TestWake(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 40)`))
	for _, tc := range []struct {
		name string
		wake func(p *person)
	}{
		{"hidden", func(p *person) { see[bool](p, `document.dispatchEvent(new Event('visibilitychange'))`) }},
		{"frozen", func(p *person) {
			p.outage() // Chromium closes the sockets of a page that it freezes
			p.live(page.SetWebLifecycleStateStateFrozen)
			p.live(page.SetWebLifecycleStateStateActive)
		}},
		{"asleep", func(p *person) {
			see[bool](p, `(real => { Date.now = () => real() + 3600000; return true; })(Date.now)`)
		}},
		{"elsewhere", func(p *person) {
			p.reach(false)
			p.until(`!navigator.onLine`)
			p.reach(true)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			way := pave(t, h.url)
			p := meet(t, desk)
			p.onEveryPage(impatient)
			p.sit(way.url)
			board, before := p.board(), p.version()
			way.lose()
			uci := anyMove(p.fen(), rand.New(rand.NewPCG(17, 17)))
			byClick(p, uci[:2], uci[2:4])
			p.until(`document.querySelector('.stage[data-ready="no"]')`)
			tc.wake(p)
			p.answered(before)
			if p.board() == board {
				t.Errorf("the move on board %s was not played", board)
			}
			if see[bool](p, saying("toast bad: ")) {
				t.Error("the player was alarmed")
			}
			p.reads(".trail", "Board "+board)
			p.until(`!document.querySelector('.banner')`)
		})
	}
}

// live puts a page to sleep, and wakes it.
func (p *person) live(state page.SetWebLifecycleStateState) {
	p.t.Helper()
	call(p, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: state})
}

// reach tells the page whether its machine has a network.
func (p *person) reach(online bool) {
	p.t.Helper()
	state := network.OverrideNetworkStateParams{Offline: !online, DownloadThroughput: -1, UploadThroughput: -1}
	call(p, network.Enable, network.EnableParams{})
	call(p, network.OverrideNetworkState, state)
}
