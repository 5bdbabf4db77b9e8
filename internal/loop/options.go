package loop

import (
	"context"
	"log/slog"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/internal/tape"
	"wamble/internal/transport"
)

// Options configures a runtime. Its functions and methods are called from several goroutines.
type Options struct {
	Name   string // of the profile, or of its shard (see store.ShardName)
	Config *config.Profile
	Shard  wamble.Shard // which shard of the profile the runtime is
	Log    *slog.Logger
	Port   *transport.Port // the runtime borrows it: the caller has opened it and closes it

	Server      Server
	OtherShards OtherShards // nil if the profile has one shard
	Database    Database
	Journal     Journal
	// Retain configures what the journal keeps of messages that the store has.
	Retain journal.RetainOptions
	// Observer and RememberEvents are those of journal.DrainOptions.
	Observer       journal.Observer
	RememberEvents bool

	RestartDir string      // of restart files; "" disables them
	Record     tape.Series // where the instances of the profile are recorded, if at all
	Tracing    *Tracing    // receives the durations of single steps; nil if nobody traces
	Clock      TestClock
}

// Server is the process that runs the runtime.
type Server interface {
	// TruePorts returns the configuration with the real ports of the other profiles.
	TruePorts(*config.Profile) *config.Profile
	// Restrictions returns the first inputs of a new instance: the host's orders that still hold.
	Restrictions() []profile.Input
	// Reservations reads from every store of the server which boards a key holds.
	Reservations(ctx context.Context, key wamble.PublicKey) ([]wamble.Reservation, error)
	// SeparateStore reports whether the configuration puts another profile of the server, or its shard, into
	// another store.
	SeparateStore(name string) bool
}

// OtherShards is the other shards of the profile, on this machine and on others.
type OtherShards interface {
	// Totals returns the counts of all shards of the profile, always the same.
	Totals() *Totals
	// Others returns the runtimes of the other shards.
	Others() []*Runtime
	// AskRemote asks the shards with these numbers, on other machines, about a board. The reply is nil if none
	// of them has it; an error says that not all could be asked.
	AskRemote(ctx context.Context, shards []int, in profile.BoardRequest) (*profile.BoardReply, error)
	// ShowViews tells the other shards what has changed on boards.
	ShowViews(*profile.BoardViews)
}

// Database is the database of the profile.
type Database struct {
	Store
	Name      string             // in messages to people
	InProcess bool               // it is a file that this process itself reads
	Registry  *registry.Registry // the profiles of the same store; nil if this is the only one
}

// Store reads and writes a database, and its schema.
type Store interface {
	store.Store
	// Migrate brings the schema to the newest version.
	Migrate(ctx context.Context, progress schema.Progress) error
	// Status returns the version and state of the schema, as this program sees it.
	Status(ctx context.Context) (schema.Status, error)
	// MoveSide returns what a move to another database needs.
	MoveSide() schema.MoveSide
	// Verify looks for damage after a crash. Errors: *store.Unusable.
	Verify(ctx context.Context) error
	// Owners returns the present owners of profiles of the database, each with its beat.
	Owners(ctx context.Context) ([]store.Owned, error)
	// Guard lets each later read of store.Queries first wait; see schema.Queries.
	Guard(wait func(context.Context) error)
}

// TestClock replaces clocks of the machine in tests.
type TestClock struct {
	Now  func() time.Time     // replaces the machine's clock, for tests that span hours; nil in production
	Skew func() time.Duration // the present error of the machine's wall clock; nil means none
}
