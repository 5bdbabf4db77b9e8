package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
)

func init() { playersPerShard = 2 } // also in the processes that tests start

// spread lets players join until every one of four shards has some.
func spread(t testing.TB, address string) *crowd {
	t.Helper()
	c, of := gather(t, address, 8), map[int]int{}
	until(t, "every shard has players", func() bool {
		p := join(t, address, wamble.Token{})
		p.crowd = c
		c.players = append(c.players, p)
		of[p.c.Token().Shard(4)]++
		return len(of) == 4 && len(c.players) >= 16
	})
	return c
}

// checkShards checks that every board is in one shard, and that boards were moved on by
// players of several shards.
func (c *crowd) checkShards(t testing.TB, db store.Queries) {
	t.Helper()
	c.checkPlaces(t, db, 4)
	if !c.mixed(t, db) {
		t.Error("no board was moved on by players of two shards")
	}
}

// checkPlaces checks that every board is in one of the shards, which is that of its holder,
// and that nobody holds two.
func (c *crowd) checkPlaces(t testing.TB, db store.Queries, shards int) {
	t.Helper()
	ctx := context.Background()
	shardOf := map[wamble.SessionID]int{}
	for _, p := range c.players {
		s, err := db.Session(ctx, p.c.Token())
		if err != nil {
			t.Fatal(err)
		}
		shardOf[s.ID] = p.c.Token().Shard(shards)
	}
	at, holders := map[wamble.BoardID]int{}, map[wamble.SessionID]wamble.BoardID{}
	for k := range shards {
		for b, err := range db.LiveBoards(ctx, config.DefaultName, k) {
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := at[b.ID]; twice {
				t.Errorf("board %d is in the shards %d and %d", b.ID, other, k)
			}
			at[b.ID] = k
			if b.Holder == nil {
				continue
			}
			if of, known := shardOf[b.Holder.Session]; known && of != k {
				t.Errorf("board %d of shard %d is held by a player of shard %d", b.ID, k, of)
			}
			if other, twice := holders[b.Holder.Session]; twice {
				t.Errorf("session %d holds the boards %d and %d", b.Holder.Session, other, b.ID)
			}
			holders[b.Holder.Session] = b.ID
		}
	}
}

// mixed reports whether players of two shards have moved on one board.
func (c *crowd) mixed(t testing.TB, db store.Queries) bool {
	t.Helper()
	shardOf := map[wamble.SessionID]int{}
	for _, p := range c.players {
		if s, err := db.Session(context.Background(), p.c.Token()); err == nil {
			shardOf[s.ID] = p.c.Token().Shard(4)
		}
	}
	for b, err := range db.Games(context.Background(), wamble.GameFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Moves {
			first, known := shardOf[b.Moves[0].Session]
			if other, too := shardOf[m.Session]; known && too && other != first {
				return true
			}
		}
	}
	return false
}

// TestShardsChange: a profile with boards is not served with another number of shards until
// the reshard command has changed it, while no server has the journal; then everybody plays
// on, also through a kill.
func TestShardsChange(t *testing.T) {
	for _, where := range []string{"disk", "postgres"} {
		t.Run("journal on "+where, func(t *testing.T) {
			t.Parallel()
			dir, one := t.TempDir(), staying(t, conf(""))
			games := func() store.Queries { return openSQLite(t, dir) }
			if where == "postgres" {
				db := pgtest.Migrated(t)
				one += postgresConf(db) + "(def journal \"postgres\")\n"
				games = func() store.Queries { return openPostgres(t, db) }
			}
			four := one + "(def shards 4)\n"
			refused := func(text string) {
				t.Helper()
				s, err := Open(Options{Config: loadConf(t, text), Dir: dir})
				if err == nil {
					err = s.Run(t.Context())
				}
				if !errors.Is(err, loop.ErrShards) {
					t.Fatalf("with another number of shards: got %v, want it to be refused", err)
				}
			}
			s := spawn(t, dir, one)
			p := join(t, s.address(), wamble.Token{})
			moves := func() {
				t.Helper()
				for range 8 {
					if !p.move(t.Context()) {
						t.Fatal("a move was not accepted")
					}
				}
			}
			moves()
			c := loadConf(t, four)
			if err := Reshard(t.Context(), c, dir, c.Default, 4); err == nil {
				t.Fatal("the shards of a server that runs were changed")
			}
			moves()
			s.end()
			refused(four)
			if err := Reshard(t.Context(), c, dir, c.Default, 4); err != nil {
				t.Fatal(err)
			}
			refused(one)
			s = spawn(t, dir, four)
			token := p.c.Token()
			all := spread(t, s.address())
			if p.ask(t.Context()); p.c.Token() != token { // the board of p was given back
				t.Error("the player has another token")
			}
			all.players = append(all.players, p)
			all.play()
			all.more(t, 500)
			s.kill()
			s = respawn(t, dir, four)
			all.more(t, 200)
			all.finish()
			s.end()
			all.verify(t, games())
			all.checkPlaces(t, games(), 4)
		})
	}
}

// TestOpenShards: the next shard opens when those that are open are full, and closes
// when a quarter of its players is gone.
func TestOpenShards(t *testing.T) {
	t.Parallel()
	const each = 2
	for _, c := range []struct{ players, open, want int }{
		{0, 1, 1}, {each - 1, 1, 1}, {each, 1, 2}, {3 * each, 1, 4}, {100 * each, 1, 4}, {100 * each, 4, 4}, {3*each - 1, 4, 4}, {0, 4, 1},
	} {
		if got := openShardsFor(c.players, c.open, 4); got != c.want {
			t.Errorf("%d players, %d open: got %d, want %d", c.players, c.open, got, c.want)
		}
	}
}

// TestMaskOf: a shard without boards is assigned no players, the first shard neither, unless
// no shard has boards.
func TestMaskOf(t *testing.T) {
	t.Parallel()
	var shards []*Shard
	for k := range 3 {
		shards = append(shards, &Shard{index: k})
	}
	for has, want := range map[uint64]uint64{0b000: 0b001, 0b001: 0b001, 0b100: 0b100, 0b110: 0b110, 0b111: 0b111,
		0b1000: 0b001} {
		if got := maskOf(shards, func(k int) bool { return has&(1<<k) != 0 }); got != want {
			t.Errorf("shards %04b have boards: %04b are open, want %04b", has, got, want)
		}
	}
}

// TestShardsUnderway: a prediction on a board that is on its way from one shard to another is
// refused with "try again", not with "no such board".
func TestShardsUnderway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	h := serve(t, Options{}, conf(`(def shards 4)`)).ready()
	seer := join(t, h.address(), wamble.Token{}).c
	const underway = 1 << 40 // in no memory
	worker, err := journal.WorkerOf(ctx, h.runner, store.ShardName("default", 1))
	if err == nil {
		_, err = journal.Post(ctx, h.runner, worker, &intent.CreateBoard{Board: underway, FEN: chess.StartFEN,
			Status: wamble.Dormant, Variant: -1, At: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	games := h.first().store
	until(t, "the board is stored", func() bool { _, err := games.Board(ctx, underway); return err == nil })
	var denied *wamble.Denied
	if got, err := seer.Predict(ctx, underway, "e2e4", 0); !errors.As(err, &denied) ||
		!strings.HasSuffix(denied.Reason, "try again") {
		t.Errorf("on a board that is under way: %+v, %v", got, err)
	}
	if got, err := seer.Predict(ctx, underway+1, "e2e4", 0); err != nil || got.Status != client.SubmitNotFound {
		t.Errorf("on no board: %+v, %v", got, err)
	}
}
