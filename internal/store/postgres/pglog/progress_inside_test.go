package pglog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress: work may take as long as it needs, also in proportion to its size in the
// database, but ends when the database does not answer.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgress(t.Context(), 5*time.Second)
		defer p.end()
		lives := func(d time.Duration, want bool) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if p.Err() == nil != want {
				t.Fatalf("after %v: %v", d, context.Cause(p))
			}
		}
		for range 100 {
			lives(4*time.Second, true)
			p.wait(0)
		}
		p.work()
		lives(time.Hour, true)
		p.wait(10 * slowest)
		lives(14*time.Second, true)
		p.wait(0)
		lives(4*time.Second, true)
		lives(2*time.Second, false)
		if got, want := context.Cause(p).Error(), "the database has sent and taken nothing for 5s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
