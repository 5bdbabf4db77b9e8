package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func openRecent(t *testing.T) *Runner {
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

func recentFrame(t *testing.T, id string, flags Flags, size int) []byte {
	t.Helper()
	frame, err := (&Message{To: 7, ID: []byte(id), Flags: flags, Payload: make([]byte, size)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestRecentAndImported: an import between two posts of one commit is found, though the rows
// around it are read from memory.
func TestRecentAndImported(t *testing.T) {
	r := openRecent(t)
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
			c.post(7, bandNormal, recentFrame(t, "before", 0, 10))
			if err := c.place(Row{7, round + 50}, recentFrame(t, "imported", 0, 10)); err != nil {
				return err
			}
			c.post(7, bandNormal, recentFrame(t, "after", 0, 10))
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

// TestRecentIsBounded: an inbox whose worker does not come keeps a bounded part of its
// messages in memory, and the worker finds all of them nevertheless.
func TestRecentIsBounded(t *testing.T) {
	r := openRecent(t)
	next := 0
	w, err := r.NewWorker(7, WorkerOptions{Handler: func(_ context.Context, _ *Tx, d *Delivery) error {
		if want := fmt.Sprint(next); string(d.ID) != want {
			return Discard(fmt.Errorf("got %s, want %s", d.ID, want))
		}
		next++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 300
	most := 0
	in := r.engine().ix.inbox(7)
	for i := range messages {
		if _, err := r.Post(t.Context(),
			&Message{To: 7, ID: fmt.Append(nil, i), Payload: make([]byte, 40_000)}); err != nil {
			t.Fatal(err)
		}
		most = max(most, in.recent.bytes)
	}
	if most > maxRecent || most < maxRecent/2 {
		t.Errorf("%d bytes were remembered of an inbox of 12 MB, want nearly %d", most, maxRecent)
	}
	for done := 0; done < messages; {
		n, err := w.Tick(t.Context())
		if err != nil || n == 0 {
			t.Fatalf("tick: %d, %v", n, err)
		}
		done += n
	}
	if next != messages {
		t.Errorf("%d messages came in order, want %d", next, messages)
	}
	if got := in.recent.bytes; got != 0 || len(in.recent.rows) != 0 {
		t.Errorf("%d bytes in %d rows are remembered of an empty inbox", got, len(in.recent.rows))
	}
}

// TestRecentAtRandom posts, imports and fails messages in random order and
// sizes under two workers of one inbox. Every message is done once.
func TestRecentAtRandom(t *testing.T) {
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		r := openRecent(t)
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
			frame := recentFrame(t, fmt.Sprint(at+n), 0, rnd.IntN(2000))
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
