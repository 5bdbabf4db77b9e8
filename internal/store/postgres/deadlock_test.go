package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// TestShardsPayEachOther: shards whose games end at the same time, and pay and rate each
// other's players while those play, never deadlock.
func TestShardsPayEachOther(t *testing.T) {
	t.Parallel()
	const sessions, players = 64, 32 // each player has two
	rounds := prooftest.Sized(12, 40, 400)
	o := pgtest.Migrated(t)
	s := open(t, o)
	_, start := storetest.NewTraffic(sessions, 1)
	at := time.Date(2026, 11, 18, 8, 0, 0, 0, time.UTC)
	linked := store.Batch{Journal: start.Journal, Profile: start.Profile, After: start.Through,
		Through: start.Through + 1}
	for i := range sessions {
		n := i % players
		linked.Intents = append(linked.Intents,
			&intent.LinkSession{Session: wamble.SessionID(i + 1), Key: wamble.PublicKey{byte(n + 1)},
				Player: wamble.PlayerID(n + 1), Handle: fmt.Sprintf("player%d", n), Rating: 1200, At: at})
	}
	for _, b := range []store.Batch{start, linked} {
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var shards sync.WaitGroup
	for shard := range 4 {
		shards.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(shard), 1))
			for round := range rounds {
				b := store.Batch{Journal: store.JournalID{byte(shard + 2)}, Profile: "default", After: uint64(round),
					Through: uint64(round + 1)}
				board := wamble.BoardID(shard*rounds + round + 1)
				var moves, payouts, ratings, seen []intent.Intent
				for _, i := range rng.Perm(players)[:players/2] { // with one session in some shards, with the other one in others
					session := wamble.SessionID(shard%2*players + i + 1)
					payouts = append(payouts,
						&intent.RecordPayout{Board: board, Session: session, Points: 1, Canonical: 1, At: at})
					ratings = append(ratings, &intent.RecordRating{Board: board, Session: session, Delta: 1, At: at})
				}
				for ply, i := range rng.Perm(sessions)[:8] {
					moves = append(moves, &intent.RecordMove{Board: board, Session: wamble.SessionID(i + 1),
						UCI: "e2e4", Ply: ply + 1, First: true, At: at})
					seen = append(seen, &intent.UpdateSessionLastSeen{Session: wamble.SessionID(i + 1), At: at})
				}
				for _, list := range [][]intent.Intent{moves, payouts, ratings, seen} {
					b.Intents = append(b.Intents, list...)
				}
				if err := s.Apply(t.Context(), b); err != nil {
					t.Errorf("shard %d, batch %d: %v", shard, round+1, err)
					return
				}
			}
		})
	}
	shards.Wait()
	if got := pgtest.Query[int](t, o, `SELECT count(*) FROM payouts`); got != 4*rounds*players/2 {
		t.Errorf("%d payouts are stored", got)
	}
}
