package profile

import (
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

// newTravelShards returns n of the four shards of a world.
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

// discard drops all intents.
type discard struct{}

func (discard) Add(intent.Intent) {}

// sentNow returns the boards that were sent since the groups were last cleared.
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

// TestLookedAtStays: a board that is watched or predicted on is not sent to another shard
// until that ends.
func TestLookedAtStays(t *testing.T) {
	for _, c := range []struct {
		name   string
		look   func(p *Profile, b *board.Board) bool // returns false if it is not allowed
		turnTo func(p *Profile, b *board.Board)      // something else
	}{
		{"watched", func(p *Profile, b *board.Board) bool {
			p.openSpectators()
			guest := spectate.Viewer{Session: 10_000 + wamble.SessionID(b.ID()), Focus: true}
			return p.audience.spectators.Watch(p.clock.now, guest, spectate.Request{Board: b.ID()},
				func([]byte) {}) == nil
		}, func(p *Profile, b *board.Board) { p.audience.spectators.Leave(10_000 + wamble.SessionID(b.ID())) }},
		{"predicted", func(p *Profile, b *board.Board) bool {
			if !p.audience.predictions.Has(b.ID()) {
				p.audience.predictions.Restore(p.clock.now, &wamble.Prediction{
					ID: wamble.PredictionID(b.ID()), Board: b.ID(), Session: 1, UCI: "e2e4", Ply: b.Plies() + 1,
					Status: wamble.Pending,
				}, b.Plies(), discard{})
			}
			return true
		}, func(p *Profile, b *board.Board) {
			p.audience.predictions.Expire(p.clock.now, b.ID(), discard{})
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
					s.step(&ShardCounts{Open: 2, Shards: make([]ShardCount, 4)},
						&turn{session: wamble.SessionID(1 + i%4), choice: w.rng.Uint64()})
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

// TestSmallWorldIsOnePool: boards of closed shards without players go to the one that is
// open: a small server is one pool.
func TestSmallWorldIsOnePool(t *testing.T) {
	w := newTravelShards(t, 4, nil)
	boards := map[wamble.BoardID]bool{}
	for _, s := range w.shards {
		s.step(&ShardCounts{Open: 4, Shards: make([]ShardCount, 4)})
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
			s.step(&ShardCounts{Open: 1, Shards: make([]ShardCount, 4)})
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
// boards that others have moved on, though they are the only players of their shard; and
// boards do not pile up.
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
				world := ShardCounts{Open: 1}
				for k, s := range w.shards {
					world.Shards = append(world.Shards, ShardCount{Players: tc.players[k], Free: s.p.boards.Free()})
				}
				for k, s := range w.shards {
					s.step(&ShardCounts{Open: 1, Shards: slices.Clone(world.Shards)})
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
			t.Logf("%d of %d answers were to own moves, %d boards", own, answers, boards)
			if answers < rounds/4 || own > answers/10 {
				t.Errorf("%d of %d answers were to own moves, want one in ten at most", own, answers)
			}
			if boards > 60 {
				t.Errorf("there are %d boards", boards)
			}
		})
	}
}
