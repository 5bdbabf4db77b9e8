//go:build proof

package pglog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner/logstore"
)

// TestGraceAfterRestart: when the database itself was away for longer than a lease, no holder
// loses its claim before it had the time for a new heartbeat.
func TestGraceAfterRestart(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	t.Parallel()
	cluster := pgtest.Start(t, false)
	a, b := mortal(t, cluster.Server(), "a"), mortal(t, cluster.Server(), "b")
	letGo(claim(t, a))
	a.Close()
	cluster.Down(t)
	time.Sleep(lease) // the heartbeat that b would read is old enough
	cluster.Up(t)
	began := time.Now()
	take(t, b)
	if d := time.Since(began); d < lease*19/20 {
		t.Errorf("b has claimed %v after the database is back, want a lease", d)
	}
}

// TestPromotedStandby: the primary crashes, its synchronous standby is promoted, and has
// every record that was acknowledged.
func TestPromotedStandby(t *testing.T) {
	prooftest.Needs(t, "minutes")
	t.Parallel()
	primary := pgtest.Start(t, false)
	standby := primary.Standby(t)
	db := primary.OverTCP(primary.Server())
	db.Host = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", primary.Server().Port, standby.Server().Port)
	a := node(t, db, "a")
	h := claim(t, a)
	for i := range 200 {
		add(t, h, fmt.Sprint(i+1))
	}
	primary.Down(t)
	if _, err := h.Append(t.Context(), []byte("lost")); err == nil {
		t.Error("an append to a primary that is gone succeeded")
	}
	letGo(h)
	standby.Promote(t)
	var again logstore.Held
	for again == nil { // a server that is being promoted takes no writes yet
		again, _ = a.Claim(t.Context(), "main", holder(t))
	}
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprintf("%d:%d", i+1, i+1))
	}
	is(t, replay(t, again), strings.Join(want, " "))
	add(t, again, "201")
	letGo(again)
}
