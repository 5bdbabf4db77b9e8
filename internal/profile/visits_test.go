package profile

import (
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestVisitsAreCounted: a visit sees the end of a game if it comes before the visitor leaves,
// and they have moved in the game since they came.
func TestVisitsAreCounted(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1) (def max-moves-per-board 2)")
	expectVisits := func(visits, sawEnd uint64) {
		t.Helper()
		if got := r.p.Stats().Deals; got.Visits != visits || got.SawEnd != sawEnd {
			t.Errorf("%d visits have ended, %d saw an end, want %d and %d", got.Visits, got.SawEnd, visits, sawEnd)
		}
	}
	// One moves and leaves before the answer, which ends the game.
	first, id := r.joinBy(streamAt(1))
	r.send(streamAt(1), movePacket(first, id, 3, "e2e4"))
	r.step(&PeerClosed{Peer: streamAt(1)})
	expectVisits(1, 0)
	r.wait(time.Minute)
	second, id := r.joinBy(streamAt(2))
	r.send(streamAt(2), movePacket(second, id, 3, "e7e5"))
	expectVisits(1, 0)
	r.step(&PeerClosed{Peer: streamAt(2)})
	expectVisits(2, 1)
	// The first returns, and says goodbye without a move.
	r.wait(time.Minute)
	r.send(streamAt(3), helloPacket(first, 4))
	r.send(streamAt(3), encode(wire.Header{Token: first, Seq: 5}, wire.ClientGoodbye{}))
	r.step(&PeerClosed{Peer: streamAt(3)})
	expectVisits(3, 1)
	// And one sends nothing more.
	r.joinBy(streamAt(4))
	r.wait(10 * time.Minute)
	expectVisits(4, 1)
}

// TestVisitSeesAnEndElsewhere: a game that ends in another shard, after a move of the
// visitor, is an end that they see, though it brought them nothing; one in which they moved
// before their visit is not.
func TestVisitSeesAnEndElsewhere(t *testing.T) {
	shard := func(index int, store *memory) *rig {
		r := &rig{t: t, now: epoch.Add(time.Hour), store: store}
		r.options = Options{
			Config: configOf(t, "(def min-boards 1) (def max-boards 1) (def max-moves-per-board 2) (def max-pot 0)"),
			Seed:   [32]byte{byte(index)}, Now: r.now, LeaseSize: 1 << 10, Shard: wamble.Shard{Index: index, Of: 2},
		}
		r.p = New(r.options)
		r.boot()
		return r
	}
	for _, tc := range []struct {
		name  string
		moved time.Duration // after the visitor came
		want  uint64
	}{
		{"moved during the visit", time.Minute, 1},
		{"moved before the visit", -time.Minute, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := newMemory()
			home, other := shard(0, store), shard(1, store)
			token, _ := home.joinBy(streamAt(1))
			visitor := home.p.sessions.Find(token).ID()
			at := home.now.Add(tc.moved)
			home.wait(90 * time.Second)

			other.wait(90 * time.Second)
			round, _ := other.p.BeginArrivals()
			other.step(&Arrive{Round: round, Boards: []wamble.Board{{
				ID: 700, FEN: "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", Status: wamble.Active,
				Variant: -1, Version: 2, Created: epoch,
				Moves: []wamble.Move{{Ply: 1, UCI: "e2e4", Session: visitor, At: at}},
			}}})
			another, id := other.joinBy(streamAt(2))
			other.step(&Packet{Peer: streamAt(2), Data: movePacket(another, id, 3, "e7e5")})
			news := slices.Clone(other.out.StoreEvents)
			home.step(&StoreEvents{Changes: news})
			home.step(&PeerClosed{Peer: streamAt(1)})
			if got := home.p.Stats().Deals; got.Visits != 1 || got.SawEnd != tc.want {
				t.Errorf("%d visits have ended, %d saw an end, want 1 and %d; news %+v", got.Visits, got.SawEnd,
					tc.want, news)
			}
		})
	}
}
