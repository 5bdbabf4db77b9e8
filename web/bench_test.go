package web_test

import (
	"testing"
	"time"
)

// BenchmarkOpen measures the time from opening the page to a board that can be
// moved on: with an empty cache, and coming back.
func BenchmarkOpen(b *testing.B) {
	h := serve(b, conf(`(def min-boards 200) (def max-boards 20000)`))
	for _, again := range []bool{false, true} {
		name := map[bool]string{false: "first", true: "again"}[again]
		b.Run(name, func(b *testing.B) {
			p := meet(b, desk)
			if again {
				p.sit(h.url)
			}
			total, n := 0.0, 0
			for b.Loop() {
				if !again {
					p = meet(b, desk)
				}
				p.sit(h.url)
				p.until(`performance.getEntriesByName('board').length > 0`)
				total += see[float64](p, `performance.getEntriesByName('board')[0].startTime`)
				n++
			}
			b.ReportMetric(total/float64(n), "ms/board")
		})
	}
}

// BenchmarkWall measures how a wall of fifty boards, of a server with 1,000, is
// drawn while a crowd plays.
func BenchmarkWall(b *testing.B) {
	h := serve(b, conf(`(def min-boards 1000) (def max-boards 1000) (def spectator-summary-hz 10) (def spectator-packets-per-sec 5000)`))
	release(b, h, 40, 250*time.Millisecond)
	p := meet(b, screen{width: 1440, height: 1000})
	p.open(h.url + "/watch")
	p.until(`document.querySelectorAll('.tile canvas[data-fen]').length >= 40`)
	const second = `new Promise(done => {
		const before = wambleWall.painted; let frames = 0; const start = performance.now();
		const frame = now => { frames++; now - start < 1000 ? requestAnimationFrame(frame) : done([1000 * frames / (now - start), wambleWall.painted - before]); };
		requestAnimationFrame(frame);
	})`
	var frames, painted float64
	n := 0
	for b.Loop() {
		seen := await[[]float64](p, second)
		frames, painted, n = frames+seen[0], painted+seen[1], n+1
	}
	b.ReportMetric(frames/float64(n), "frames/s")
	b.ReportMetric(painted/float64(n), "boards/s")
	b.ReportMetric(see[float64](p, `wambleWall.worst`), "ms-worst")
}

// TestOwnHost: the page loads nothing from another host, and the first load as the browser
// counted it is within its bound.
func TestOwnHost(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 8)`))
	p := meet(t, desk)
	p.sit(h.url)
	foreign := see[[]string](p,
		`performance.getEntriesByType('resource').map(e => e.name).filter(n => new URL(n).host !== location.host)`)
	if len(foreign) > 0 {
		t.Errorf("the page loads %v", foreign)
	}
	bytes := see[int](p, `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((n, e) => n + e.transferSize, 0)`)
	t.Logf("the browser received %d bytes", bytes)
	if bytes == 0 || bytes > 150<<10 {
		t.Errorf("the browser received %d bytes, want at most %d", bytes, 150<<10)
	}
	script := see[int](p, `performance.getEntriesByType('resource').filter(e => e.name.endsWith('.js')).reduce((n, e) => n + e.encodedBodySize, 0)`)
	t.Logf("the browser received %d bytes of script", script)
	if script == 0 || script > 60<<10 {
		t.Errorf("the browser received %d bytes of script to play, want at most %d", script, 60<<10)
	}
}
