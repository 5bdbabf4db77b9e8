package runner

import (
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
