package runner

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// TestReadyOfAnOldClock: of two workers of an inbox the one that read the clock first may
// come last. It must not make the inbox drop a row that has become free since.
func TestReadyOfAnOldClock(t *testing.T) {
	ix := &index{inboxes: map[uint64]*inbox{}, owners: map[uint64]*Worker{}}
	in := ix.inbox(7)
	in.park(1, holding{lease: lease{Deadline: 990}, n: 1})
	ix.expire(in, 1000)
	if got := ix.takeReady(in, 985, 10, nil); len(got) != 0 {
		t.Errorf("at 985 got %v, free from 991 on", got)
	}
	ix.expire(in, 1001)
	if got := ix.takeReady(in, 1001, 10, nil); !slices.Equal(got, []uint64{1}) {
		t.Errorf("at 1001 got %v, want row 1", got)
	}
}

// TestExpiryIsBounded: when the waits of many rows end at the same time, a claim moves and takes
// few of them, so that it holds the index for a short time only. All come in the end.
func TestExpiryIsBounded(t *testing.T) {
	const rows = 5 * maxExpire
	ix := &index{inboxes: map[uint64]*inbox{}, owners: map[uint64]*Worker{}}
	in := ix.inbox(7)
	for seq := uint64(1); seq <= rows; seq++ {
		in.park(seq, holding{lease: lease{Deadline: 990}, n: 1})
	}
	var got []uint64
	for len(got) < rows {
		ix.expire(in, 1000)
		before := len(in.ready)
		if before > maxExpire {
			t.Fatalf("a claim moved %d rows, want at most %d", before, maxExpire)
		}
		taken := ix.takeReady(in, 1000, maxExpire, nil)
		if len(taken) == 0 || len(taken)+len(in.ready) != before {
			t.Fatalf("%d of %d rows were taken, %d are left", len(taken), before, len(in.ready))
		}
		got = append(got, taken...)
	}
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != rows {
		t.Errorf("%d rows came, want %d", len(got), rows)
	}
}

// TestSpansOfAClaim: the lease of a claim of few rows that are far apart is not looked for at all
// rows between them.
func TestSpansOfAClaim(t *testing.T) {
	r := openForTest(t)
	for i := range 5000 {
		flags := Flags(0)
		if i == 4999 {
			flags = HighPriority
		}
		if _, err := r.Post(t.Context(), &Message{To: 7, ID: fmt.Append(nil, i), Flags: flags}); err != nil {
			t.Fatal(err)
		}
	}
	var wide []rowRun
	w, err := r.NewWorker(7, WorkerOptions{MaxBatch: 8, Handler: func(context.Context, *Tx, *Delivery) error {
		ix := &r.engine().ix
		ix.mu.Lock()
		defer ix.mu.Unlock()
		for _, s := range ix.inbox(7).expiry {
			if s.hi-s.lo > 2*maxBundle {
				wide = append(wide, s.rowRun)
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.TickOnce(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if len(wide) > 0 {
		t.Errorf("a claim of 8 rows has leases in %v", wide)
	}
}

// TestOldestIsNotSearchedFor: the oldest message is found without a walk over the numbers of
// messages that nobody has claimed, to the parked ones behind them.
func TestOldestIsNotSearchedFor(t *testing.T) {
	in := newInbox(7)
	in.frontier = [bandCount]uint64{10, 1 << 20, 1 << 20}
	for seq := uint64(200_000); seq < 300_000; seq++ {
		in.park(seq, holding{n: 1})
	}
	in.hold(9, holding{lease: lease{Owner: 1}, n: 1})
	if got := in.oldest(); got != 9 {
		t.Errorf("the oldest is %d, want the claimed one, 9", got)
	}
	in.release(9)
	if got := in.oldest(); got != 10 || in.first > 10 {
		t.Errorf("the oldest is %d, searched up to %d, want 10", got, in.first)
	}
}
