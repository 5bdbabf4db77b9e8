package web_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestMapOnPhone: every board is on one canvas, and a tap opens one.
func TestMapOnPhone(t *testing.T) {
	t.Parallel()
	w := show(t, 40, 20*time.Millisecond)
	p := meet(t, phone)
	p.open(w.url + "/map")
	p.until(`document.querySelector('[data-boards="40"]') && wambleMap.size === 40`)
	p.audit("map on a phone")
	x, y := p.middle(".map")
	p.do(chromedp.TapXY(x, y))
	p.until(`/^\/watch\/[0-9]+$/.test(location.pathname)`)
}
