package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"wamble"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/schema"
	"wamble/internal/store/sqlite"
)

// Store is a database with its schema.
type Store = loop.Store

// SharedStore is a store and the profiles that keep their games in it.
type SharedStore struct {
	Store
	Name     string // for people: "SQLite FILE" or "PostgreSQL NAME at HOST as USER"
	File     string // of SQLite; "" for PostgreSQL
	Profiles []string
	journals []string // the names of the profiles' shards
	// Registry has the runtimes that use the same database, also with other settings.
	Registry *registry.Registry

	settings     any           // comparable; equal settings share a store
	database     string        // identifies the database, whatever the settings
	migrating    sync.Mutex    // held during a migration
	peerMember   *peerMember   // the other nodes; nil if the journal is not distributed
	ownerTimeout time.Duration // after which an owner counts as dead; 0 for the default
}

// Migrate brings the schema to the newest version. Calls are serialized.
func (s *SharedStore) Migrate(ctx context.Context, progress schema.Progress) error {
	s.migrating.Lock()
	defer s.migrating.Unlock()
	return s.Store.Migrate(ctx, progress)
}

// MigrateAlone is Migrate by a process that serves no players. A migration that is not
// additive is refused while a server runs on the database, because it would break it.
func (s *SharedStore) MigrateAlone(ctx context.Context, progress schema.Progress) error {
	if err := loop.MayMigrate(ctx, s.Store, s.ownerTimeout, nil); err != nil {
		return err
	}
	return s.Migrate(ctx, progress)
}

// OpenStores returns the stores of the given profiles, in their order. Profiles whose
// settings are all equal share one. The first call on a store connects.
func OpenStores(profiles []*config.Profile, dataDir string) ([]*SharedStore, error) {
	open := stores{dir: dataDir}
	for _, p := range profiles {
		if _, err := open.acquire(p); err != nil {
			CloseStores(open.list)
			return nil, err
		}
	}
	return open.list, nil
}

// loadTime bounds a single query to a store.
const loadTime = 5 * time.Second

// CloseStores closes all stores.
func CloseStores(stores []*SharedStore) {
	for _, s := range stores {
		s.Close()
	}
}

// owner identifies this process in a store, whose profiles have one owner at a time.
func (p *partition) owner() store.Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	since := p.s.started
	if p.storage != nil {
		since = p.claimed // a standby may have started before the node that it succeeds
	}
	return store.Owner{Journal: store.JournalID(p.runner.JournalID()), Host: host, PID: os.Getpid(),
		Since: since.UTC().Truncate(time.Microsecond)}
}

// stores has the open stores, each with the profiles that use it.
type stores struct {
	dir             string
	guardMigrations bool           // queries wait for migrations
	peers           *cluster.Peers // the other nodes; nil if the journal is not distributed
	// failover says that another node may take the profiles over. Transactions of a lost node
	// then end after idleTransaction.
	failover bool
	mu       sync.Mutex // guards what follows
	list     []*SharedStore
	// inherited has the changes that the process before the handoff received from other nodes,
	// by database that is not open yet.
	inherited map[string][]profile.StoreEvent
}

// acquire returns the store of a profile, and opens it if no other profile uses it.
func (s *stores) acquire(p *config.Profile) (*SharedStore, error) {
	place, err := locationOf(p, s.dir, s.failover)
	if err != nil {
		return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, shared := range s.list {
		if shared.settings == place.settings {
			shared.add(p)
			return shared, nil
		}
	}
	store, err := place.open()
	if err != nil {
		return nil, fmt.Errorf("store of profile %s: %w", p.Name, err)
	}
	if s.guardMigrations {
		store = newMigrationGuard(store)
	}
	shared := &SharedStore{
		Store: store, Name: place.name, File: place.file, settings: place.settings, database: place.database,
		Registry: registry.New(),
	}
	shared.add(p)
	for _, other := range s.list {
		if other.database == shared.database {
			shared.Registry, shared.peerMember = other.Registry, other.peerMember
		}
	}
	if s.peers != nil && shared.peerMember == nil {
		shared.peerMember = &peerMember{s.peers, shared.database}
		shared.Registry.JoinPeers(shared.peerMember)
		shared.Registry.RestoreRemoteEvents(s.inherited[shared.database])
		delete(s.inherited, shared.database)
	}
	s.list = append(s.list, shared)
	return shared, nil
}

// add adds a profile to the users of the store.
func (s *SharedStore) add(p *config.Profile) {
	s.Profiles = append(s.Profiles, p.Name)
	for k := range p.Boards.Shards {
		s.journals = append(s.journals, store.ShardName(p.Name, k))
	}
}

// all returns the stores that are open.
func (s *stores) all() []*SharedStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// reservations returns the boards that a key holds, from all stores.
func (s *stores) reservations(ctx context.Context, key wamble.PublicKey) ([]wamble.Reservation, error) {
	var all []wamble.Reservation
	now := time.Now()
	for _, store := range s.all() {
		rows, err := store.Reservations(ctx, key, now)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// release removes a profile from the users of a store, and closes the store after the last.
func (s *stores) release(shared *SharedStore, profile string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(shared.Profiles, profile); i >= 0 {
		shared.Profiles = slices.Delete(shared.Profiles, i, i+1)
	}
	for k := 0; ; k++ {
		i := slices.Index(shared.journals, store.ShardName(profile, k))
		if i < 0 {
			break
		}
		shared.journals = slices.Delete(shared.journals, i, i+1)
	}
	if len(shared.Profiles) > 0 {
		return nil
	}
	s.list = slices.DeleteFunc(s.list, func(other *SharedStore) bool { return other == shared })
	return shared.Close()
}

// storeLocation is where a profile keeps its games. Settings is comparable and identifies it.
type storeLocation struct {
	name     string
	file     string
	database string
	settings any
	open     func() (Store, error)
}

func locationOf(p *config.Profile, dataDir string, moves bool) (storeLocation, error) {
	if p.Postgres() {
		return postgresLocation(p, dataDir, moves)
	}
	file := "games.db"
	if p.Store.Isolated {
		file = "games-" + p.Name + ".db"
	}
	path := filepath.Join(dataDir, file)
	o := sqlite.Options{Path: path}
	return storeLocation{"SQLite " + path, path, path, o, func() (Store, error) { return sqlite.Open(o) }}, nil
}

// idleTransaction is how long PostgreSQL keeps a transaction of a node that was lost. It is
// shorter than a takeover.
const idleTransaction = time.Second

// ownerOf returns the user id of a data directory's owner if this process is root, else 0.
// The database authenticates that user.
func ownerOf(dir string) int {
	var s syscall.Stat_t
	if os.Geteuid() != 0 || syscall.Stat(dir, &s) != nil {
		return 0
	}
	return int(s.Uid)
}

func postgresLocation(p *config.Profile, dataDir string, moves bool) (storeLocation, error) {
	db := p.Database
	password, err := db.Password(os.ReadFile)
	if err != nil {
		return storeLocation{}, err
	}
	o := postgres.Options{
		Host: db.Host, Port: db.TCPPort(), User: db.User, Password: password, Name: db.Name, SSLMode: db.SSLMode,
		ConnectTimeout: db.ConnectTimeout, StatementTimeout: db.StatementTimeout, MaxConns: db.PoolSize,
		As: ownerOf(dataDir),
	}
	if moves {
		o.IdleTransaction = idleTransaction
	}
	settings := o
	o.Profile = p.Name // the first of those that share the store
	name := fmt.Sprintf("PostgreSQL %s at %s as %s", db.Name, o.Where(), db.User)
	database := o.Where() + "/" + db.Name
	return storeLocation{name, "", database, settings, func() (Store, error) { return postgres.Open(o) }}, nil
}

// migrationGuard is a store that returns store.ErrTransient until its schema is known to be the
// newest, from Migrate or Status. After a handoff players are served before the migration
// has ended, and queries of this version must not reach the old schema. Queries wait until
// the first migration has ended or has found a step to do. The reads of Queries wait by Guard, the
// other methods by guarded.
type migrationGuard struct {
	Store
	ready      atomic.Bool   // the schema is the newest
	decided    chan struct{} // closed when ready is known, or a migration step has begun
	decideOnce sync.Once     // closes tried
}

func newMigrationGuard(s Store) *migrationGuard {
	g := &migrationGuard{Store: s, decided: make(chan struct{})}
	s.Guard(g.awaitReady)
	return g
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

func (g *migrationGuard) Claim(ctx context.Context, key wamble.PublicKey, name string, at,
	since time.Time) (wamble.Player, error) {
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

func (g *migrationGuard) SetShards(ctx context.Context, profile string, n int) error {
	if err := g.awaitReady(ctx); err != nil {
		return err
	}
	return g.Store.SetShards(ctx, profile, n)
}
