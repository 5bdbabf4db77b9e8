package profile

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/spectate"
)

// newTravelShards returns so many of the four shards of a world.
func newTravelShards(t *testing.T, n int, options func(*config.Profile)) *travelWorld {
	w := &travelWorld{
		t: t, rng: rand.New(rand.NewPCG(7, 24)), now: time.Unix(1_800_000_000, 0).UTC(),
		rows: map[wamble.BoardID]*travelRow{}, arrivals: map[wamble.BoardID]int{}, next: 1, options: options,
	}
	for k := range n {
		s := &travelShard{w: w, index: k}
		w.shards = append(w.shards, s)
		s.begin()
		s.step(&Ready{})
	}
	return w
}

// discard takes intents that nobody needs.
type discard struct{}

func (discard) Add(intent.Intent) {}

// sentNow are the boards that were sent since the groups were forgotten last.
func (s *travelShard) sentNow() (boards []wamble.BoardID) {
	for _, g := range s.groups {
		for _, f := range g.frames {
			intents, err := journal.Decode(f)
			if err != nil {
				s.w.t.Fatal(err)
			}
			for _, in := range intents {
				if in, ok := in.(*intent.MoveBoard); ok {
					boards = append(boards, in.Board)
				}
			}
		}
	}
	return boards
}

// TestLookedAtStays: a board that somebody watches or predicts on is not sent to another
// shard; when nobody looks any more it is.
func TestLookedAtStays(t *testing.T) {
	for _, c := range []struct {
		name   string
		look   func(p *Profile, b *board.Board) bool // false: nobody may
		turnTo func(p *Profile, b *board.Board)      // something else
	}{
		{"watched", func(p *Profile, b *board.Board) bool {
			p.openHall()
			guest := spectate.Guest{Session: 10_000 + wamble.SessionID(b.ID()), Focus: true}
			return p.audience.hall.Watch(p.clock.now, guest, spectate.Request{Board: b.ID()}, func([]byte) {}) == nil
		}, func(p *Profile, b *board.Board) { p.audience.hall.Leave(10_000 + wamble.SessionID(b.ID())) }},
		{"predicted", func(p *Profile, b *board.Board) bool {
			if !p.audience.book.Has(b.ID()) {
				p.audience.book.Restore(p.clock.now, &wamble.Prediction{
					ID: wamble.PredictionID(b.ID()), Board: b.ID(), Session: 1, UCI: "e2e4", Ply: b.Plies() + 1, Status: wamble.Pending,
				}, b.Plies(), discard{})
			}
			return true
		}, func(p *Profile, b *board.Board) {
			p.audience.book.Expire(p.clock.now, b.ID(), nil, discard{})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTravelShards(t, 2, nil)
			s := w.shards[0]
			play := func(look func(*Profile, *board.Board) bool) (sent, looked int) {
				for i := range uint64(20 * sendEvery) {
					at := map[wamble.BoardID]bool{}
					for b := range s.p.boards.All() {
						at[b.ID()] = look(s.p, b)
					}
					s.groups = nil
					s.step(&World{Open: 2, Shards: make([]ShardCount, 4)}, &turn{session: wamble.SessionID(1 + i%4), choice: w.rng.Uint64()})
					for _, id := range s.sentNow() {
						if sent++; at[id] {
							looked++
						}
					}
				}
				return sent, looked
			}
			if _, looked := play(c.look); looked > 0 {
				t.Errorf("%d boards were sent that somebody looked at", looked)
			}
			if sent, _ := play(func(p *Profile, b *board.Board) bool { c.turnTo(p, b); return false }); sent == 0 {
				t.Error("no board was sent when nobody looked")
			}
		})
	}
}

// TestMeetTheWorld: in a world of four shards a player gets boards that players of all four
// have moved on within a few dozen of his own moves, and boards make less than two journeys
// in a hundred moves. One world is not like another, so that is said of the one in the middle.
func TestMeetTheWorld(t *testing.T) {
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

// meetTheWorld plays in a world, and returns how many moves players made until they had met
// all of it: half of the time, and nine times in ten at most.
func meetTheWorld(t *testing.T, seed uint64) (half, most int, w *travelWorld) {
	const players, rounds = 16, 3200
	w = newTravelShards(t, 4, func(cfg *config.Profile) {
		cfg.Boards.MinBoards, cfg.Boards.MaxBoards, cfg.Boards.MaxMoves = 4, 1000, 80 // about as long as games of people
	})
	w.rng = rand.New(rand.NewPCG(seed, 24))
	movedBy := map[wamble.BoardID]uint64{} // shards, one bit each
	met := map[wamble.SessionID]uint64{}   // shards whose players have moved on boards that he got
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
				s.step(&World{Open: 4, Shards: slices.Clone(count)}, &turn{session: id, choice: w.rng.Uint64()})
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
			s.step(&turn{session: id, choice: 3 * (w.rng.Uint64() >> 2)}) // he gets the next one
			for len(s.groups) > 0 {
				s.sync()
			}
			s.drain(1 << 20)
			if s.poll(); s.polled != nil {
				s.step(s.polled)
			}
		}
	}
	for _, n := range since { // those who still wait
		all = append(all, n)
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*9/10], w
}

// TestSmallWorldIsOnePool: boards of shards that are closed, and have no players, go to the
// one that is open: a small world is one pool.
func TestSmallWorldIsOnePool(t *testing.T) {
	w := newTravelShards(t, 4, nil)
	boards := map[wamble.BoardID]bool{}
	for _, s := range w.shards {
		s.step(&World{Open: 4, Shards: make([]ShardCount, 4)})
		for i := range 4 {
			s.step(&turn{session: wamble.SessionID(1 + s.index*100 + i), choice: 1})
		}
		if s.p.boards.Len() == 0 {
			t.Fatalf("shard %d has no boards", s.index)
		}
		for b := range s.p.boards.All() {
			boards[b.ID()] = true
		}
	}
	for range 8 {
		for _, s := range w.shards {
			s.step(&World{Open: 1, Shards: make([]ShardCount, 4)})
			for len(s.groups) > 0 {
				s.sync()
			}
			s.drain(1 << 20)
			if s.poll(); s.polled != nil {
				s.step(s.polled)
			}
		}
	}
	for k, s := range w.shards[1:] {
		if n := s.p.boards.Len(); n > 0 {
			t.Errorf("shard %d is closed and has %d boards", k+1, n)
		}
	}
	for id := range boards {
		if w.shards[0].p.boards.Board(id) == nil {
			t.Errorf("board %d is not in the shard that is open", id)
		}
	}
}

// TestNobodyAnswersHimselfInAShard: players who are alone in shards, open or closed, get
// boards that others have moved on, though nobody else is where they are; and boards do not
// pile up.
func TestNobodyAnswersHimselfInAShard(t *testing.T) {
	for _, tc := range []struct {
		name    string
		players []int // in each shard
		lonely  int   // look at the player of this one
	}{
		{"the others are in the open shard", []int{6, 0, 0, 1}, 3},
		{"everybody is alone in a closed shard", []int{0, 1, 1, 1}, 2},
		{"two are alone, one in the open shard", []int{1, 0, 1, 0}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const rounds = 240
			w := newTravelShards(t, 4, func(cfg *config.Profile) {
				cfg.Boards.MinBoards, cfg.Boards.MaxBoards, cfg.Boards.MaxMoves = 8, 1000, 80
			})
			own, answers := 0, 0
			for round := range rounds {
				w.now = w.now.Add(3 * time.Second) // they are people
				world := World{Open: 1}
				for k, s := range w.shards {
					world.Shards = append(world.Shards, ShardCount{Players: tc.players[k], Free: s.p.boards.Free()})
				}
				for k, s := range w.shards {
					s.step(&World{Open: 1, Shards: slices.Clone(world.Shards)})
					for i := range tc.players[k] {
						id := wamble.SessionID(1 + k*100 + i)
						if b := s.p.boards.Held(id); b != nil && k == tc.lonely && round > rounds/4 {
							if last, moved := b.LastMove(); moved {
								if answers++; last.Session == id {
									own++
								}
							}
						}
						s.step(&turn{id, 1 + 3*(w.rng.Uint64()>>2)}, &turn{id, 3}) // moves, and gets the next one
					}
					for len(s.groups) > 0 {
						s.sync()
					}
					s.drain(1 << 20)
					if s.poll(); s.polled != nil {
						s.step(s.polled)
					}
				}
			}
			boards := 0
			for _, s := range w.shards {
				boards += s.p.boards.Len()
			}
			t.Logf("%d of %d answers were to himself, %d boards", own, answers, boards)
			if answers < rounds/4 || own > answers/10 {
				t.Errorf("%d of %d answers were to himself, want one in ten at most", own, answers)
			}
			if boards > 60 {
				t.Errorf("there are %d boards", boards)
			}
		})
	}
}
