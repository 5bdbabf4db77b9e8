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
