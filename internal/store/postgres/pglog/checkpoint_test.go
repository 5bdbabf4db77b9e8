package pglog_test

import (
	"context"
	"testing"
	"time"

	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
	"wamble/runner/logstore"
)

// TestCheckpointUnanswered: a checkpoint whose answer was lost counts, nothing is written
// over it, and the claim ends: the next holder reads the checkpoint and what came after.
func TestCheckpointUnanswered(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	proxy, way := pgtest.NewProxy(t, db)
	way.ConnectTimeout = watchtest.Patience
	l := pglog.Open(pglog.Options{Database: way, Node: "a", Lease: time.Minute}) // only the checkpoint ends the claim
	t.Cleanup(l.Close)
	lost := make(chan error, 1)
	h, err := l.Claim(t.Context(), "main", logstore.Holder{Lost: func(err error) { lost <- err }})
	ok(t, err)
	add(t, h, "1")
	ok(t, h.Checkpoint(t.Context(), 1, state("s1")))
	add(t, h, "2")
	proxy.CutAfter("SET through")
	if err := h.Checkpoint(t.Context(), 2, state("s2")); err == nil || proxy.Cuts() != 1 {
		t.Fatalf("the checkpoint: got %v with %d answers lost, want an error with 1", err, proxy.Cuts())
	}
	if got := pgtest.Query[int](t, db, `SELECT through FROM shards`); got != 2 {
		t.Fatalf("the checkpoint goes through record %d, want 2: the server has done it", got)
	}
	select {
	case <-lost:
	default:
		t.Error("the holder goes on")
	}
	add(t, h, "3")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := h.Checkpoint(ctx, 3, func(yield func([]byte) bool) { // half of the next one
		if yield(make([]byte, 9000)) {
			cancel()
			yield([]byte("more"))
		}
	}); err == nil {
		t.Error("a checkpoint after it was not refused")
	}
	letGo(h)
	is(t, replay(t, claim(t, l)), "2:s2 3:3")
}

func state(record string) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) { yield([]byte(record)) }
}
