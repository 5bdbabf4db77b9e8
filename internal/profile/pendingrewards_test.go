package profile

import (
	"strings"
	"testing"

	"wamble"
)

// TestWonWhileAway: a returning player whose points, won while they were away, are not in the
// store yet is admitted when they are, and has them then.
func TestWonWhileAway(t *testing.T) {
	back := func(r *rig) { r.send(peerAt(12), helloPacket(tokenOf(r.store.sessions[12].Token), 1)) }
	applied := func(r *rig) {
		r.apply()
		r.step(&Applied{Seq: r.seq})
	}
	has := func(r *rig) {
		t.Helper()
		r.answerLoads()
		if s := r.p.sessions.ByID(12); s == nil || r.p.sessions.Stats(s).Score != 10 {
			t.Errorf("the player did not come back with the points won: %s", r.took())
		}
		if len(r.p.pendingRewards.queue)+len(r.p.pendingRewards.until)+len(r.p.pendingRewards.parked) != 0 {
			t.Errorf("kept: %+v", r.p.pendingRewards)
		}
	}
	begin := func() *rig { return beforeTheEnd(t, "", fools, []wamble.SessionID{11, 12, 11, 14}) }

	r := begin()
	r.end(14, "d8h4")
	back(r)
	r.answerLoads()
	if r.p.sessions.ByID(12) != nil {
		t.Error("the player came back before the store had the points")
	}
	applied(r)
	has(r)

	r = begin() // the session was loaded before the points were won, and the answer comes late
	back(r)
	early := r.store.answer(r.loads[0])
	r.loads = nil
	r.end(14, "d8h4")
	applied(r)
	r.step(early)
	has(r)

	r = begin() // the store has the points when the player comes
	r.end(14, "d8h4")
	applied(r)
	back(r)
	has(r)

	r = begin()
	r.end(14, "d8h4")
	back(r)
	r.answerLoads()
	r.took()
	r.step(&StoreAway{})
	if len(r.loads) != 1 {
		t.Fatalf("%d loads under way, want that of who waits", len(r.loads))
	}
	r.step(&Loaded{Load: r.loads[0].ID, Outcome: Away})
	if got := r.took(); !strings.Contains(got, "database away") {
		t.Errorf("the store is away: got %s", got)
	}
}

// TestPendingRewardsAreBounded: an outage in which many absent players win points uses a
// bounded amount of memory.
func TestPendingRewardsAreBounded(t *testing.T) {
	o := newPendingRewards()
	for id := range wamble.SessionID(maxPendingRewards + 100) {
		o.add(id, uint64(id))
	}
	if len(o.queue) != maxPendingRewards || len(o.until) != maxPendingRewards || o.until[99] != 0 ||
		o.until[100] != 100 {
		t.Errorf("%d and %d are kept, want %d", len(o.queue), len(o.until), maxPendingRewards)
	}
}
