package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"wamble/runner"
	"wamble/runner/memstore"
)

// TestRangeStops: Range reads and checks what is visited, not what is after it, however much that
// is.
func TestRangeStops(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	put := func(tx *runner.Tx, i int) error { return tx.Put(fmt.Appendf(nil, "k%06d", i), []byte("v")) }
	for from := 0; from <= runner.MaxRange+100; from += 1000 {
		if _, err := r.Update(t.Context(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
			for i := from; i < from+1000; i++ {
				if err := put(tx, 2*i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	// update visits n rows while somebody else writes row other, and returns the keys.
	update := func(n, other int) (keys []string, err error) {
		_, err = r.Update(t.Context(), runner.AttemptPolicy{Retries: -1}, func(tx *runner.Tx) error {
			if err := errors.Join(put(tx, 1), tx.Delete([]byte("k000002"))); err != nil {
				return err
			}
			err := tx.Range([]byte("k"), []byte("l"), func(key, _ []byte) bool {
				keys = append(keys, string(key))
				return len(keys) < n
			})
			if err != nil {
				return err
			}
			_, err = r.Update(context.Background(), runner.AttemptPolicy{}, func(tx *runner.Tx) error { return put(tx, other) })
			return err
		})
		return keys, err
	}
	keys, err := update(3, 999_999)
	if want := []string{"k000000", "k000001", "k000004"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("got %v, %v, want %v and no conflict with what was not visited", keys, err, want)
	}
	if _, err := update(200, 301); !errors.Is(err, runner.ErrConflict) {
		t.Errorf("a row was added among those visited: got %v, want %v", err, runner.ErrConflict)
	}
	if _, err := update(200, 1001); err != nil {
		t.Errorf("a row was added after those visited: %v", err)
	}
	if keys, err = update(1<<30, 1003); !errors.Is(err, runner.ErrTooLarge) || len(keys) != runner.MaxRange {
		t.Errorf("got %d rows and %v, want %d and %v", len(keys), err, runner.MaxRange, runner.ErrTooLarge)
	}
	if _, err := r.Update(t.Context(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		n := 0
		err := tx.Range([]byte("k"), []byte("k000500"), func(key, _ []byte) bool {
			n++
			return tx.Delete(slices.Clone(key)) == nil // what is visited may be changed meanwhile
		})
		if n < 200 {
			return fmt.Errorf("%d rows", n)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
