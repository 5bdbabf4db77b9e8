package journal

import (
	"slices"
	"testing"
	"time"
)

// TestObserversRecall: nobody is told anything until somebody observes; who comes, after a
// start or a rest, is told what was kept, and then every message once.
func TestObserversRecall(t *testing.T) {
	r, db := openRunner(t), &fakeStore{}
	keep := KeepOptions{Dir: t.TempDir(), Age: time.Hour, Bytes: 1 << 20}
	var told []uint64
	var through uint64
	here := false
	open := func() *Drain {
		d, _ := keeping(t, r, db, keep)
		d.o.Observed = func(uint64) bool { return here }
		d.o.Happened = func(after, to uint64, list []Happened) {
			if len(told) > 0 && after != through {
				t.Errorf("told behind %d after %d", after, through)
			}
			through = to
			for _, h := range list {
				told = append(told, h.Seq)
			}
		}
		return d
	}
	check := func(when string, want ...uint64) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", when, told, want)
		}
		told = nil
	}
	d := open()
	ply := 0
	play := func(n int) {
		for range n {
			ply++
			post(t, r, d, move(1, ply))
			empty(t, d)
		}
	}
	play(3)
	check("nobody is there")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open()
	d.told = d.settled() // as Run does
	d.listen(d.told)
	check("nobody is there after a start")
	play(1)
	here = true
	d.listen(d.told)
	check("who comes in silence", 1, 2, 3, 4)
	d.listen(d.told)
	check("and stays")
	play(1)
	check("with the next move", 5)
	here = false
	play(1)
	check("he leaves")
	here = true
	play(1)
	check("who comes with a move", 1, 2, 3, 4, 5, 6, 7)
}
