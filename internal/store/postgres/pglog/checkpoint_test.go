package pglog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestCheckpointUnanswered: a checkpoint whose answer was lost counts, and nothing is written
// over it, as by half of a next one. Then checkpoints go on.
func TestCheckpointUnanswered(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	proxy, way := pgtest.NewProxy(t, db)
	way.ConnectTimeout = watchtest.Patience
	l := pglog.Open(pglog.Options{Database: way, Node: "a", Lease: time.Minute}) // the claim lasts
	t.Cleanup(l.Close)
	h := claim(t, l)
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
	add(t, h, "3")
	wrote := false
	watchtest.Until(t, "half of the next checkpoint is written", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := h.Checkpoint(ctx, 3, func(yield func([]byte) bool) {
			if wrote = yield(make([]byte, 9000)); wrote {
				cancel()
				yield([]byte("more"))
			}
		}); err == nil {
			t.Fatal("half of a checkpoint is none")
		}
		return wrote
	})
	other := pglog.Open(pglog.Options{Database: db, Node: "b"})
	t.Cleanup(other.Close)
	is(t, look(t, other), "2:s2 3:3")
	watchtest.Until(t, "the next checkpoint is made",
		func() bool { return h.Checkpoint(t.Context(), 3, state("s3")) == nil })
	is(t, look(t, other), "3:s3")
}

// look returns what a reader sees that does not hold the log.
func look(t *testing.T, l *pglog.Log) string {
	t.Helper()
	var all []string
	ok(t, l.Look(t.Context(), "main", func(seq uint64, record []byte) error {
		all = append(all, fmt.Sprintf("%d:%s", seq, record))
		return nil
	}))
	return strings.Join(all, " ")
}

func state(record string) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) { yield([]byte(record)) }
}
