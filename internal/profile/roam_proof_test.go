//go:build proof

package profile

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/prooftest"
)

// TestMeetTheWorld: with four shards a player gets boards that players of all four have moved
// on within a few dozen of their own moves, and boards make less than two journeys in a
// hundred moves. Runs vary, so the median run is judged.
func TestMeetTheWorld(t *testing.T) {
	prooftest.Needs(t, "minutes")
	var halves, mosts []int
	moves, sent := uint64(0), uint64(0)
	for seed := range uint64(7) {
		half, most, w := meetTheWorld(t, seed)
		halves, mosts = append(halves, half), append(mosts, most)
		for _, s := range w.shards {
			moves, sent = moves+s.p.stats.Moves, sent+s.p.stats.Sent
		}
	}
	slices.Sort(halves)
	slices.Sort(mosts)
	t.Logf("%d moves, %d journeys; who had met the whole world had made %d moves half of the time, and %d at most nine times in ten", moves, sent, halves, mosts)
	if half, most := halves[len(halves)/2], mosts[len(mosts)/2]; half > 24 || most > 60 {
		t.Errorf("it takes %d moves half of the time, and %d at most nine times in ten, to meet the whole world; want 24 and 60", half, most)
	}
	if cost := float64(sent) / float64(moves); cost == 0 || cost >= 0.02 {
		t.Errorf("boards made a journey for %.1f %% of the moves, want less than 2 %%", 100*cost)
	}
}

// meetTheWorld runs one game world, and returns how many moves players made until they had
// met all shards: the median, and the 90th percentile.
func meetTheWorld(t *testing.T, seed uint64) (half, most int, w *travelWorld) {
	const players, rounds = 16, 3200
	w = newTravelShards(t, 4, func(cfg *config.Profile) {
		cfg.Boards.MinBoards, cfg.Boards.MaxBoards, cfg.Boards.MaxMoves = 4, 1000, 80 // about as long as games of people
	})
	w.rng = rand.New(rand.NewPCG(seed, 24))
	movedBy := map[wamble.BoardID]uint64{} // shards, one bit each
	met := map[wamble.SessionID]uint64{}   // shards whose players have moved on the boards that each session got
	since, all := map[wamble.SessionID]int{}, []int{}
	for round := range rounds {
		var count []ShardCount
		for _, s := range w.shards {
			count = append(count, ShardCount{Free: s.p.boards.Free()})
		}
		for _, s := range w.shards {
			id := wamble.SessionID(1 + s.index*100 + w.rng.IntN(players))
			if b := s.p.boards.Held(id); b != nil {
				on := b.ID()
				s.step(&ShardCounts{Open: 4, Shards: slices.Clone(count)}, &turn{session: id, choice: w.rng.Uint64()})
				since[id]++
				met[id] |= movedBy[on]
				movedBy[on] |= 1 << s.index
			}
			if bits.OnesCount64(met[id]) == 4 || round < rounds/4 { // at first boards are where they were made
				if round >= rounds/4 {
					all = append(all, since[id])
				}
				met[id], since[id] = 0, 0
			}
			s.step(&turn{session: id, choice: 3 * (w.rng.Uint64() >> 2)}) // the player gets the next one
			for len(s.groups) > 0 {
				s.sync()
			}
			s.drain(1 << 20)
			if s.poll(); s.polled != nil {
				s.step(s.polled)
			}
		}
	}
	for _, n := range since { // the sessions that still wait
		all = append(all, n)
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*9/10], w
}
