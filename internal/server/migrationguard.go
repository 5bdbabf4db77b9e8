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

// migrationGuard is a store that returns store.ErrTransient until its schema is known to be the
// newest, from Migrate or Status. After a handoff players are served before the migration
// has ended, and queries of this version must not reach the old schema. Queries wait until
// the first migration has ended or has found a step to do.
type migrationGuard struct {
	Store
	ready      atomic.Bool   // the schema is the newest
	decided    chan struct{} // closed when ready is known, or a migration step has begun
	decideOnce sync.Once     // closes tried
}

func newMigrationGuard(s Store) *migrationGuard {
	return &migrationGuard{Store: s, decided: make(chan struct{})}
}

func (g *migrationGuard) decide() { g.decideOnce.Do(func() { close(g.decided) }) }

// Migrate brings the schema to the newest version, and then lets queries through.
func (g *migrationGuard) Migrate(ctx context.Context, progress schema.Progress) error {
	defer g.decide()
	err := g.Store.Migrate(ctx, func(step schema.Step) {
		g.decide()
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
func (g *migrationGuard) Status(ctx context.Context) (schema.Status, error) {
	st, err := g.Store.Status(ctx)
	if err == nil && st.Refused() == nil && len(st.Pending) == 0 {
		g.ready.Store(true)
		g.decide()
	}
	return st, err
}

// Owners is passed on without waiting for the migration, which calls it before steps that
// are not additive.
func (g *migrationGuard) Owners(ctx context.Context) ([]store.Owned, error) {
	g.decide()
	return g.Store.Owners(ctx)
}

// awaitReady waits until the state of the schema is known. Errors: store.ErrTransient if it is
// not migrated yet, or ctx ends.
func (g *migrationGuard) awaitReady(ctx context.Context) error {
	if g.ready.Load() {
		return nil
	}
	select {
	case <-g.decided:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrTransient, ctx.Err())
	}
	if !g.ready.Load() {
		return fmt.Errorf("%w: its schema is not migrated yet", store.ErrTransient)
	}
	return nil
}

// guarded calls ask if the gate is open.
func guarded[T any](ctx context.Context, g *migrationGuard, ask func() (T, error)) (T, error) {
	if err := g.awaitReady(ctx); err != nil {
		var none T
		return none, err
	}
	return ask()
}

// guardedRows yields the rows of ask if the gate is open.
func guardedRows(ctx context.Context, g *migrationGuard, ask func() iter.Seq2[wamble.Board, error]) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		if err := g.awaitReady(ctx); err != nil {
			yield(wamble.Board{}, err)
			return
		}
		ask()(yield)
	}
}

func (g *migrationGuard) Apply(ctx context.Context, b store.Batch) error {
	if err := g.awaitReady(ctx); err != nil {
		return err
	}
	return g.Store.Apply(ctx, b)
}

func (g *migrationGuard) Probe(ctx context.Context, b store.Batch) ([]store.Rejection, error) {
	return guarded(ctx, g, func() ([]store.Rejection, error) { return g.Store.Probe(ctx, b) })
}

func (g *migrationGuard) Cursor(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	return guarded(ctx, g, func() (uint64, error) { return g.Store.Cursor(ctx, j, profile) })
}

// CursorBefore reads a cursor without waiting for the migration: every version of the
// schema has cursors.
func (s *SharedStore) CursorBefore(ctx context.Context, j store.JournalID, profile string) (uint64, error) {
	db := s.Store
	if g, ok := db.(*migrationGuard); ok {
		db = g.Store
	}
	return db.Cursor(ctx, j, profile)
}

func (g *migrationGuard) Snapshot(ctx context.Context, ask func(q store.Queries) error) ([]store.Cursor, error) {
	return guarded(ctx, g, func() ([]store.Cursor, error) { return g.Store.Snapshot(ctx, ask) })
}

func (g *migrationGuard) Enrol(ctx context.Context, first wamble.Player) (wamble.Player, error) {
	return guarded(ctx, g, func() (wamble.Player, error) { return g.Store.Enrol(ctx, first) })
}

func (g *migrationGuard) Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player, error) {
	return guarded(ctx, g, func() (wamble.Player, error) { return g.Store.Claim(ctx, key, name, at, since) })
}

func (g *migrationGuard) Lease(ctx context.Context, s wamble.Sequence, n int) ([]wamble.Block, error) {
	return guarded(ctx, g, func() ([]wamble.Block, error) { return g.Store.Lease(ctx, s, n) })
}

func (g *migrationGuard) Return(ctx context.Context, s wamble.Sequence, blocks []wamble.Block) error {
	if err := g.awaitReady(ctx); err != nil {
		return err
	}
	return g.Store.Return(ctx, s, blocks)
}

func (g *migrationGuard) Session(ctx context.Context, t wamble.Token) (wamble.Session, error) {
	return guarded(ctx, g, func() (wamble.Session, error) { return g.Store.Session(ctx, t) })
}

func (g *migrationGuard) SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error) {
	return guarded(ctx, g, func() (wamble.Session, error) { return g.Store.SessionByID(ctx, id) })
}

func (g *migrationGuard) Holders(ctx context.Context, sessions []wamble.SessionID, profile string, terms [32]byte) ([]store.Holder, error) {
	return guarded(ctx, g, func() ([]store.Holder, error) { return g.Store.Holders(ctx, sessions, profile, terms) })
}

func (g *migrationGuard) SessionByHandle(ctx context.Context, handle string) (wamble.Session, error) {
	return guarded(ctx, g, func() (wamble.Session, error) { return g.Store.SessionByHandle(ctx, handle) })
}

func (g *migrationGuard) Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error) {
	return guarded(ctx, g, func() (wamble.Player, error) { return g.Store.Player(ctx, key) })
}

func (g *migrationGuard) LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error] {
	return guardedRows(ctx, g, func() iter.Seq2[wamble.Board, error] { return g.Store.LiveBoards(ctx, profile, shard) })
}

func (g *migrationGuard) Arrivals(ctx context.Context, profile string, shard, most int) ([]wamble.Board, error) {
	return guarded(ctx, g, func() ([]wamble.Board, error) { return g.Store.Arrivals(ctx, profile, shard, most) })
}

func (g *migrationGuard) Shards(ctx context.Context, profile string) (int, error) {
	return guarded(ctx, g, func() (int, error) { return g.Store.Shards(ctx, profile) })
}

func (g *migrationGuard) SetShards(ctx context.Context, profile string, n int) error {
	if err := g.awaitReady(ctx); err != nil {
		return err
	}
	return g.Store.SetShards(ctx, profile, n)
}

func (g *migrationGuard) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	return guarded(ctx, g, func() (wamble.Board, error) { return g.Store.Board(ctx, id) })
}

func (g *migrationGuard) Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	return guardedRows(ctx, g, func() iter.Seq2[wamble.Board, error] { return g.Store.Games(ctx, f) })
}

func (g *migrationGuard) Past(ctx context.Context, q wamble.PastQuery) (wamble.Past, error) {
	return guarded(ctx, g, func() (wamble.Past, error) { return g.Store.Past(ctx, q) })
}

func (g *migrationGuard) Began(ctx context.Context, profile string) (time.Time, error) {
	return guarded(ctx, g, func() (time.Time, error) { return g.Store.Began(ctx, profile) })
}

func (g *migrationGuard) Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	return guarded(ctx, g, func() ([]wamble.Score, error) { return g.Store.Scores(ctx, q) })
}

func (g *migrationGuard) Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	return guarded(ctx, g, func() (wamble.Leaderboard, error) { return g.Store.Leaderboard(ctx, q) })
}

func (g *migrationGuard) Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error) {
	return guarded(ctx, g, func() ([]wamble.Reservation, error) { return g.Store.Reservations(ctx, key, now) })
}

func (g *migrationGuard) Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error) {
	return guarded(ctx, g, func() ([]wamble.Prediction, error) { return g.Store.Predictions(ctx, boards...) })
}

func (g *migrationGuard) TermsAccepted(ctx context.Context, id wamble.SessionID, profile string, hash [32]byte) (bool, error) {
	return guarded(ctx, g, func() (bool, error) { return g.Store.TermsAccepted(ctx, id, profile, hash) })
}

func (g *migrationGuard) People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error) {
	return guarded(ctx, g, func() ([]wamble.Person, error) { return g.Store.People(ctx, q) })
}
