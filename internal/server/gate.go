package server

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// gate is a store that returns store.ErrTransient until its schema is known to be the
// newest, from Migrate or Status. After a handoff players are served before the migration
// has ended, and queries of this version must not reach the old schema. Queries wait until
// the first migration has ended or has found a step to do.
type gate struct {
	Store
	ready atomic.Bool   // the schema is the newest
	tried chan struct{} // closed when ready is known, or a migration step has begun
	once  sync.Once     // closes tried
}

func newGate(s Store) *gate { return &gate{Store: s, tried: make(chan struct{})} }

func (g *gate) settle() { g.once.Do(func() { close(g.tried) }) }

// Migrate brings the schema to the newest version, and then lets queries through.
func (g *gate) Migrate(ctx context.Context, progress schema.Progress) error {
	defer g.settle()
	err := g.Store.Migrate(ctx, func(step schema.Step) {
		g.settle()
		if progress != nil {
			progress(step)
		}
	})
	if err == nil {
		g.ready.Store(true)
	}
	return err
}

// Status lets queries through if there is nothing to migrate.
func (g *gate) Status(ctx context.Context) (schema.Status, error) {
	st, err := g.Store.Status(ctx)
	if err == nil && st.Refused() == nil && len(st.Pending) == 0 {
		g.ready.Store(true)
		g.settle()
	}
	return st, err
}

// Owners is passed on without waiting for the migration, which calls it before steps that
// are not additive.
func (g *gate) Owners(ctx context.Context) ([]store.Owned, error) {
	g.settle()
	return g.Store.Owners(ctx)
}

// open waits until the state of the schema is known. Errors: store.ErrTransient if it is
// not migrated yet, or ctx ends.
func (g *gate) open(ctx context.Context) error {
	if g.ready.Load() {
		return nil
	}
	select {
	case <-g.tried:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrTransient, ctx.Err())
	}
	if !g.ready.Load() {
		return fmt.Errorf("%w: its schema is not migrated yet", store.ErrTransient)
	}
	return nil
}

// through calls ask if the gate is open.
func through[T any](ctx context.Context, g *gate, ask func() (T, error)) (T, error) {
	if err := g.open(ctx); err != nil {
		var none T
		return none, err
	}
	return ask()
}

// throughAll yields the rows of ask if the gate is open.
func throughAll(ctx context.Context, g *gate, ask func() iter.Seq2[wamble.Board, error]) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		if err := g.open(ctx); err != nil {
			yield(wamble.Board{}, err)
			return
		}
		ask()(yield)
	}
}

func (g *gate) Apply(ctx context.Context, b store.Batch) error {
	if err := g.open(ctx); err != nil {
		return err
	}
	return g.Store.Apply(ctx, b)
}

func (g *gate) Probe(ctx context.Context, b store.Batch) ([]store.Rejection, error) {
	return through(ctx, g, func() ([]store.Rejection, error) { return g.Store.Probe(ctx, b) })
}

func (g *gate) Cursor(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	return through(ctx, g, func() (uint64, error) { return g.Store.Cursor(ctx, j, profile) })
}

// CursorBefore reads a cursor without waiting for the migration: every version of the
// schema has cursors.
func (s *Shared) CursorBefore(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	db := s.Store
	if g, ok := db.(*gate); ok {
		db = g.Store
	}
	return db.Cursor(ctx, j, profile)
}

func (g *gate) Snapshot(ctx context.Context, ask func(q store.Queries) error) ([]store.Cursor, error) {
	return through(ctx, g, func() ([]store.Cursor, error) { return g.Store.Snapshot(ctx, ask) })
}

func (g *gate) Enrol(ctx context.Context, first wamble.Player) (wamble.Player, error) {
	return through(ctx, g, func() (wamble.Player, error) { return g.Store.Enrol(ctx, first) })
}

func (g *gate) Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player, error) {
	return through(ctx, g, func() (wamble.Player, error) { return g.Store.Claim(ctx, key, name, at, since) })
}

func (g *gate) Lease(ctx context.Context, s wamble.Sequence, n int) ([]wamble.Block, error) {
	return through(ctx, g, func() ([]wamble.Block, error) { return g.Store.Lease(ctx, s, n) })
}

func (g *gate) Return(ctx context.Context, s wamble.Sequence, blocks []wamble.Block) error {
	if err := g.open(ctx); err != nil {
		return err
	}
	return g.Store.Return(ctx, s, blocks)
}

func (g *gate) Session(ctx context.Context, t wamble.Token) (wamble.Session, error) {
	return through(ctx, g, func() (wamble.Session, error) { return g.Store.Session(ctx, t) })
}

func (g *gate) SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error) {
	return through(ctx, g, func() (wamble.Session, error) { return g.Store.SessionByID(ctx, id) })
}

func (g *gate) Holders(ctx context.Context, sessions []wamble.SessionID, profile string, terms [32]byte) ([]store.Holder, error) {
	return through(ctx, g, func() ([]store.Holder, error) { return g.Store.Holders(ctx, sessions, profile, terms) })
}

func (g *gate) SessionByHandle(ctx context.Context, handle string) (wamble.Session, error) {
	return through(ctx, g, func() (wamble.Session, error) { return g.Store.SessionByHandle(ctx, handle) })
}

func (g *gate) Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error) {
	return through(ctx, g, func() (wamble.Player, error) { return g.Store.Player(ctx, key) })
}

func (g *gate) LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error] {
	return throughAll(ctx, g, func() iter.Seq2[wamble.Board, error] { return g.Store.LiveBoards(ctx, profile, shard) })
}

func (g *gate) Arrivals(ctx context.Context, profile string, shard, most int) ([]wamble.Board, error) {
	return through(ctx, g, func() ([]wamble.Board, error) { return g.Store.Arrivals(ctx, profile, shard, most) })
}

func (g *gate) Shards(ctx context.Context, profile string) (int, error) {
	return through(ctx, g, func() (int, error) { return g.Store.Shards(ctx, profile) })
}

func (g *gate) SetShards(ctx context.Context, profile string, n int) error {
	if err := g.open(ctx); err != nil {
		return err
	}
	return g.Store.SetShards(ctx, profile, n)
}

func (g *gate) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	return through(ctx, g, func() (wamble.Board, error) { return g.Store.Board(ctx, id) })
}

func (g *gate) Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	return throughAll(ctx, g, func() iter.Seq2[wamble.Board, error] { return g.Store.Games(ctx, f) })
}

func (g *gate) Past(ctx context.Context, q wamble.PastQuery) (wamble.Past, error) {
	return through(ctx, g, func() (wamble.Past, error) { return g.Store.Past(ctx, q) })
}

func (g *gate) Began(ctx context.Context, profile string) (time.Time, error) {
	return through(ctx, g, func() (time.Time, error) { return g.Store.Began(ctx, profile) })
}

func (g *gate) Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	return through(ctx, g, func() ([]wamble.Score, error) { return g.Store.Scores(ctx, q) })
}

func (g *gate) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	return through(ctx, g, func() (wamble.Leaderboard, error) { return g.Store.Leaderboard(ctx, q) })
}

func (g *gate) Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error) {
	return through(ctx, g, func() ([]wamble.Reservation, error) { return g.Store.Reservations(ctx, key, now) })
}

func (g *gate) Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error) {
	return through(ctx, g, func() ([]wamble.Prediction, error) { return g.Store.Predictions(ctx, boards...) })
}

func (g *gate) TermsAccepted(ctx context.Context, id wamble.SessionID, profile string, hash [32]byte) (bool, error) {
	return through(ctx, g, func() (bool, error) { return g.Store.TermsAccepted(ctx, id, profile, hash) })
}

func (g *gate) People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error) {
	return through(ctx, g, func() ([]wamble.Person, error) { return g.Store.People(ctx, q) })
}
