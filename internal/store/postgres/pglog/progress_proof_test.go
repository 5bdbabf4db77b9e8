//go:build proof

package pglog_test

import (
	"strings"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
)

// TestLargeLog: a checkpoint and a tail that take longer than the bound of a statement are
// written, read and inspected, but not when the network carries nothing.
func TestLargeLog(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	t.Parallel()
	const patience = 2 * time.Second
	db := pgtest.Empty(t)
	db.ConnectTimeout = watchtest.Patience
	with := func(patience time.Duration) *pglog.Log {
		l := pglog.Open(pglog.Options{Database: db, Node: "a", Instance: "1", Patience: patience, Lease: 10 * lease})
		t.Cleanup(l.Close)
		return l
	}
	const n = 12
	record := []byte(strings.Repeat("x", 1<<20)) // more of them than the buffers of a connection take
	hasty := with(patience)
	h := claim(t, hasty)
	ok(t, h.Checkpoint(t.Context(), 0, func(yield func([]byte) bool) {
		for i := range n {
			if i == 1 {
				time.Sleep(patience + patience/10)
			}
			if !yield(record) {
				return
			}
		}
	}))
	ok(t, h.Release(t.Context(), ""))
	h = claim(t, with(watchtest.Patience))
	for range n {
		_, err := h.Append(t.Context(), record)
		ok(t, err)
	}
	ok(t, h.Release(t.Context(), ""))
	for what, read := range map[string]func(t *testing.T, visit func(uint64, []byte) error) error{
		"replay": func(t *testing.T, visit func(uint64, []byte) error) error {
			return claim(t, hasty).Replay(t.Context(), visit)
		},
		"look": func(t *testing.T, visit func(uint64, []byte) error) error {
			return hasty.Look(t.Context(), "main", visit)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			seen := 0
			err := read(t, func(uint64, []byte) error {
				if seen%n == 0 { // the first of the checkpoint, and of the tail
					time.Sleep(patience + patience/10)
				}
				seen++
				return nil
			})
			if err != nil || seen != 2*n {
				t.Errorf("got %d records, %v, want %d", seen, err, 2*n)
			}
		})
	}
	t.Run("a network that carries nothing", func(t *testing.T) {
		t.Parallel()
		proxy, way := pgtest.NewProxy(t, db)
		l := pglog.Open(pglog.Options{Database: way, Node: "b", Patience: patience})
		t.Cleanup(l.Close)
		pass, stopped := func() {}, false
		err := l.Look(t.Context(), "main", func(uint64, []byte) error {
			if !stopped {
				stopped = true
				pass = proxy.Still()
			}
			return nil
		})
		pass()
		if err == nil || !strings.Contains(err.Error(), "the database has sent and taken nothing for ") {
			t.Errorf("got %v, want that nothing came", err)
		}
	})
}
