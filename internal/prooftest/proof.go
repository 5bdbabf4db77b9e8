package prooftest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Proof is a test that only `make proof` and `make soak` run. Its file is named
// *_proof_test.go and begins with `//go:build proof`.
type Proof struct {
	t     testing.TB
	began times
}

// Needs begins a proof and logs what it needs: "root", "a machine for itself", "minutes".
func Needs(t testing.TB, what string) *Proof {
	t.Helper()
	t.Logf("needs %s", what)
	return &Proof{t: t, began: readTimes()}
}

// Bound fails the proof if got is above bound. If the host took more than a twentieth of the
// processors' time from this machine, or the machine was overloaded, it logs INCONCLUSIVE
// instead, because the figure then does not depend on Wamble alone.
func (p *Proof) Bound(what string, got, bound time.Duration) {
	p.t.Helper()
	p.Judge(got <= bound, fmt.Sprintf("%s took %v, the bound is %v", what, got, bound))
}

// Judge is Bound for a condition that depends on the machine's speed in another way.
func (p *Proof) Judge(ok bool, what string) {
	p.t.Helper()
	stolen := readTimes().stolenSince(p.began)
	switch {
	case ok:
		p.t.Logf("measured: %s", what)
	case stolen > 0.05:
		p.t.Logf("measured: INCONCLUSIVE: %s, but the host took %.0f %% of the processors' time", what, 100*stolen)
	default:
		p.t.Errorf("%s (the host took %.0f %% of the processors' time)", what, 100*stolen)
	}
}

// times are the processors' times in ticks since the machine started.
type times struct{ all, stolen float64 }

// readTimes reads the first line of /proc/stat. It returns zeros if the system has none.
func readTimes() times {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times{}
	}
	return parseTimes(string(text))
}

// parseTimes reads a line such as "cpu user nice system idle iowait irq softirq steal".
func parseTimes(stat string) times {
	line, _, _ := strings.Cut(stat, "\n")
	var sum times
	for i, field := range strings.Fields(line) {
		var n float64
		if _, err := fmt.Sscan(field, &n); err != nil || i > 8 {
			continue
		}
		sum.all += n
		if i == 8 {
			sum.stolen = n
		}
	}
	return sum
}

// stolenSince returns the share of the processors' time that the host took since began.
func (t times) stolenSince(began times) float64 {
	if t.all <= began.all {
		return 0
	}
	return (t.stolen - began.stolen) / (t.all - began.all)
}
