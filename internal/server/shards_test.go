package server

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/backup"
	"wamble/internal/config"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
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

// shardStores lets a test run on a profile of four shards in a store of each kind.
func shardStores(t *testing.T, test func(t *testing.T, dir, text string, open func() store.Queries)) {
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		test(t, dir, staying(t, conf(`(def shards 4)`)), func() store.Queries {
			db, err := sqlite.Open(sqlite.Options{Path: dir + "/games.db"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db
		})
	})
	t.Run("postgres", func(t *testing.T) {
		db := pgtest.Migrated(t)
		test(t, t.TempDir(), staying(t, conf(`(def shards 4)`+postgresConf(db))), func() store.Queries { return openPostgres(t, db) })
	})
}

// TestShardsKill kills a server of four shards in mid-load: every move that was accepted
// is in the store once, and boards travel.
func TestShardsKill(t *testing.T) {
	t.Parallel()
	shardStores(t, func(t *testing.T, dir, text string, open func() store.Queries) {
		s := spawn(t, dir, text)
		c := spread(t, s.address())
		c.play()
		for range kills() {
			c.more(t, 1000)
			s.kill()
			s = spawn(t, dir, text)
		}
		db := open()
		until(t, "players meet boards of other shards", func() bool { return c.mixed(t, db) })
		c.finish()
		s.end()
		c.verify(t, db)
		c.checkShards(t, db)
	})
}

// TestShardsHandoff hands a server of four shards over in mid-load.
func TestShardsHandoff(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, staying(t, conf(`(def shards 4)`)))
	c := spread(t, i.address())
	c.play()
	for range 3 {
		c.more(t, 500)
		if _, err := i.handOff(""); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(sqlite.Options{Path: i.dir + "/games.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	until(t, "players meet boards of other shards", func() bool { return c.mixed(t, db) })
	c.finish()
	i.end()
	c.verify(t, db)
	c.checkShards(t, db)
}

// TestShardsWall: a watcher of all boards sees those of other shards, and can watch one of
// them alone.
func TestShardsWall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	h := serve(t, Options{}, conf(`(def shards 4)`)).ready()
	c := spread(t, h.address())
	watcher := c.players[0].c
	other := c.players[slices.IndexFunc(c.players, func(p *player) bool { return p.c.Token().Shard(4) != watcher.Token().Shard(4) })].c
	w, err := watcher.Spectate(ctx, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	sees := func(what string, ok func(client.Update) bool) {
		t.Helper()
		for {
			got, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if ok(got) {
				return
			}
		}
	}
	on := other.Board().ID
	sees("a board of another shard", func(u client.Update) bool { return u.Board.ID == on })
	after := play(t, ctx, other)
	sees("a move there", func(u client.Update) bool { return u.Board.ID == on && u.Board.FEN == after })
	on = other.Board().ID
	sees("the next board there", func(u client.Update) bool { return u.Board.ID == on })
	if err := w.SetView(ctx, client.View{Board: on}); err != nil {
		t.Fatal(err)
	}
	after = play(t, ctx, other)
	sees("a move there, watched alone", func(u client.Update) bool { return u.Board.ID == on && u.Board.FEN == after })
}

// TestShardsChangeShared: the same with the journal in PostgreSQL, where no machine may
// have it meanwhile; then four shards play, also through a kill.
func TestShardsChangeShared(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	dir, text := t.TempDir(), staying(t, conf(postgresConf(db)))+"(def journal \"postgres\")\n"
	s := spawn(t, dir, text)
	p := join(t, s.address(), wamble.Token{})
	for range 8 {
		if !p.move(t.Context()) {
			t.Fatal("a move was not accepted")
		}
	}
	four := text + "(def shards 4)\n"
	c := loadConf(t, four)
	if err := Reshard(t.Context(), c, dir, c.Default, 4); err == nil {
		t.Fatal("the shards of a server that runs were changed")
	}
	if !p.move(t.Context()) {
		t.Fatal("the server was disturbed")
	}
	s.end()
	if err := Reshard(t.Context(), c, dir, c.Default, 4); err != nil {
		t.Fatal(err)
	}
	s = spawn(t, dir, four)
	all := spread(t, s.address())
	p.ask(t.Context()) // the board of p was given back
	all.players = append(all.players, p)
	all.play()
	all.more(t, 500)
	s.kill()
	s = respawn(t, dir, four)
	all.more(t, 200)
	all.finish()
	s.end()
	games := openPostgres(t, db)
	all.verify(t, games)
	all.checkPlaces(t, games, 4)
}

// TestShardsBackup: a backup of four shards that play, restored in another directory, has
// everything that was accepted before it was made, and every board in one shard.
func TestShardsBackup(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backup.tar")
	text := staying(t, conf(`(def shards 4)`))
	s := spawn(t, dir, text)
	c := spread(t, s.address())
	c.play()
	c.more(t, 500)
	from := sourceOf(t, loadConf(t, text), dir)
	checkpoint := from.Checkpoint
	from.Checkpoint = func(ctx context.Context, dir string) error {
		c.more(t, 300) // behind the games that were copied
		c.finish()
		return checkpoint(ctx, dir)
	}
	if _, err := backup.To(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	s.kill()
	remote := filepath.Join(t.TempDir(), "data")
	restoreTo(t, loadConf(t, text), to, remote)
	spawn(t, remote, text).end()
	db, err := sqlite.Open(sqlite.Options{Path: remote + "/games.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c.verify(t, db)
	c.checkPlaces(t, db, 4)
}

// TestShardsChange: a profile with boards is not served with another number of shards until
// the reshard command has changed it; then everybody plays on.
func TestShardsChange(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	dir := t.TempDir()
	run := func(text string) error {
		c, err := config.Load("test.conf", text, config.Params{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Config: c, Dir: dir})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return s.Run(ctx)
	}
	s := spawn(t, dir, staying(t, conf("")))
	p := join(t, s.address(), wamble.Token{})
	for range 8 {
		if !p.move(ctx) {
			t.Fatal("a move was not accepted")
		}
	}
	s.end()
	four := staying(t, conf(`(def shards 4)`))
	if err := run(four); !errors.Is(err, loop.ErrShards) {
		t.Fatalf("with four shards: got %v, want it to be refused", err)
	}
	c, err := config.Load("test.conf", four, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Reshard(ctx, c, dir, c.Default, 4); err != nil {
		t.Fatal(err)
	}
	if err := run(staying(t, conf(""))); !errors.Is(err, loop.ErrShards) {
		t.Fatalf("with one shard: got %v, want it to be refused", err)
	}
	s = spawn(t, dir, four)
	defer s.end()
	q := join(t, s.address(), p.c.Token())
	if q.c.Token() != p.c.Token() || !q.move(ctx) {
		t.Error("the player does not play on")
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
	for has, want := range map[uint64]uint64{0b000: 0b001, 0b001: 0b001, 0b100: 0b100, 0b110: 0b110, 0b111: 0b111, 0b1000: 0b001} {
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
		_, err = journal.Post(ctx, h.runner, worker, &intent.CreateBoard{Board: underway, FEN: chess.StartFEN, Status: wamble.Dormant, Variant: -1, At: time.Now()})
	}
	if err != nil {
		t.Fatal(err)
	}
	games := h.first().store
	until(t, "the board is stored", func() bool { _, err := games.Board(ctx, underway); return err == nil })
	var denied *wamble.Denied
	if got, err := seer.Predict(ctx, underway, "e2e4", 0); !errors.As(err, &denied) || !strings.HasSuffix(denied.Reason, "try again") {
		t.Errorf("on a board that is under way: %+v, %v", got, err)
	}
	if got, err := seer.Predict(ctx, underway+1, "e2e4", 0); err != nil || got.Status != client.SubmitNotFound {
		t.Errorf("on no board: %+v, %v", got, err)
	}
}
