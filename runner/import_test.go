package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func openForTest(t *testing.T) *Runner {
	t.Helper()
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, Policy: Policy{RetryDelay: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func testFrame(t *testing.T, id string, flags Flags, size int) []byte {
	t.Helper()
	frame, err := (&Message{To: 7, ID: []byte(id), Flags: flags, Payload: make([]byte, size)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestImportBetweenPosts: an import between two posts of one commit is delivered between them.
func TestImportBetweenPosts(t *testing.T) {
	r := openForTest(t)
	var got []string
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(_ context.Context, _ *Tx, d *Delivery) error {
		got = append(got, string(d.ID))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, round := range []uint64{0, 100} {
		err := r.engine().do(t.Context(), func(c *commit) error {
			c.post(7, bandNormal, testFrame(t, "before", 0, 10))
			if err := c.place(Row{7, round + 50}, testFrame(t, "imported", 0, 10)); err != nil {
				return err
			}
			c.post(7, bandNormal, testFrame(t, "after", 0, 10))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		if _, err := w.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"before", "imported", "after"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestImportsAtRandom posts, imports and fails messages in random order and
// sizes under two workers of one inbox. Every message is done once.
func TestImportsAtRandom(t *testing.T) {
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		r := openForTest(t)
		done := map[string]int{}
		var workers []*Worker
		for range 2 {
			w, err := r.NewWorker(7, WorkerOptions{MaxBatch: 1 + rnd.IntN(100),
				Handler: func(_ context.Context, _ *Tx, d *Delivery) error {
					if d.Attempts == 1 && rnd.IntN(20) == 0 {
						return errors.New("not this time")
					}
					done[string(d.ID)]++
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			workers = append(workers, w)
		}
		posted := 0
		for range 60 {
			posted += postSome(t, r, rnd, posted)
			if rnd.IntN(3) > 0 {
				if _, err := workers[rnd.IntN(2)].Tick(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		// A tick may do nothing: it may meet only messages that fail.
		for ticks := 0; r.Stats().Inboxes[0].Depth > 0; ticks++ {
			if _, err := workers[rnd.IntN(2)].Tick(t.Context()); err != nil || ticks > 100*posted {
				t.Fatalf("seed %d: %v, %d rows are left", seed, err, r.Stats().Inboxes[0].Depth)
			}
		}
		for i := range posted {
			if got := done[fmt.Sprint(i)]; got != 1 {
				t.Fatalf("seed %d: message %d of %d was done %d times", seed, i, posted, got)
			}
		}
	}
}

// postSome adds messages numbered from at on in one commit.
func postSome(t *testing.T, r *Runner, rnd *rand.Rand, at int) (n int) {
	t.Helper()
	err := r.engine().do(t.Context(), func(c *commit) error {
		for n = 0; n < rnd.IntN(100); n++ {
			frame := testFrame(t, fmt.Sprint(at+n), 0, rnd.IntN(2000))
			switch rnd.IntN(30) {
			case 0:
				if err := c.place(Row{7, c.e.ix.inbox(7).next + rnd.Uint64N(3)}, frame); err != nil {
					return err
				}
			case 1:
				c.post(7, bandHigh, frame)
			default:
				c.post(7, bandNormal, frame)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
