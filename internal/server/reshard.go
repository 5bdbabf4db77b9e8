package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"wamble"
	"wamble/internal/backup"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/pebblestore"
)

// checkShards refuses a configuration whose number of shards differs from the database's,
// before this node claims a partition or sends a heartbeat. A database that does not
// answer is checked again by the loops (see checkAllFailed).
func (s *Server) checkShards(ctx context.Context) error {
	profiles, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	stores, err := OpenStores(profiles, s.dir)
	if err != nil {
		return err
	}
	defer CloseStores(stores)
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	for _, db := range stores {
		for _, name := range db.Profiles {
			cfg := profiles[slices.IndexFunc(profiles, func(p *config.Profile) bool { return p.Name == name })]
			if _, err := loop.CheckShards(ctx, db.Store, db.Name, name, cfg.Boards.Shards); errors.Is(err,
				loop.ErrShards) {
				return err
			}
		}
	}
	return nil
}

// Reshard changes the number of shards of a profile while no server runs. The profile's
// journal must be empty, because its messages were decided for the old shards. Reservations
// are given up; bans, brown-outs and announcements stay.
func Reshard(ctx context.Context, c *config.Config, dir string, cfg *config.Profile, n int) error {
	if n < 1 || n > wamble.MaxShards || n&(n-1) != 0 {
		return fmt.Errorf("a profile has 1, 2, 4, 8, 16, 32 or 64 shards, not %d", n)
	}
	return withStopped(ctx, c, dir, cfg, func(db *SharedStore, r *runner.Runner) error {
		if err := db.Migrate(ctx, nil); err != nil {
			return err
		}
		if err := forgetShards(ctx, r, dir, cfg.Name); err != nil {
			return err
		}
		if err := db.SetShards(ctx, cfg.Name, n); err != nil { // the database first
			return err
		}
		return journal.SetShards(ctx, r, cfg.Name, n)
	})
}

// Import calls work with the store of a profile, brought to the newest schema, while no server runs on its
// database or its journal. The next start reads what work has written. A database of the original is refused.
func Import(ctx context.Context, c *config.Config, dir string, cfg *config.Profile, work func(*SharedStore) error) error {
	return withStopped(ctx, c, dir, cfg, func(db *SharedStore, r *runner.Runner) error {
		st, err := db.Status(ctx)
		if err == nil && (st.Adopt || st.Original != nil) {
			err = fmt.Errorf("%s is a database of the original itself: name a new one with db-name, or none", db.Name)
		}
		if err == nil {
			err = db.Migrate(ctx, nil)
		}
		if err == nil {
			err = forgetShards(ctx, r, dir, cfg.Name)
		}
		if err != nil {
			return err
		}
		return work(db)
	})
}

// withStopped calls work with the store of a profile and the journal, when it has made sure that no server
// runs on either.
func withStopped(ctx context.Context, c *config.Config, dir string, cfg *config.Profile,
	work func(*SharedStore, *runner.Runner) error) error {
	stores, err := OpenStores([]*config.Profile{cfg}, dir)
	if err != nil {
		return err
	}
	defer CloseStores(stores)
	db := stores[0]
	if err := refuseLive(ctx, db); err != nil {
		return err
	}
	storage, log, err := openStoppedJournal(ctx, c, dir)
	if err != nil {
		return err
	}
	if log != nil {
		defer log.Close()
	}
	r, err := runner.Open(storage, runner.Options{Schema: JournalSchema, Create: true, Migrate: journal.Migrate})
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("a server uses %s: stop it first", dir)
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer r.Close()
	return work(db, r)
}

// refuseLive returns an error if a server runs on a store.
func refuseLive(ctx context.Context, db *SharedStore) error {
	other, err := loop.LiveOwner(ctx, db.Store, db.ownerTimeout, nil)
	if err == nil && other != nil {
		err = fmt.Errorf("a server runs on %s (%s): stop it first", db.Name, other.By)
	}
	return err
}

// MovedStore is a store that MoveStores has moved.
type MovedStore struct {
	From, To string
	Profiles []string
	backup.Moved
}

// MoveStores moves the games of a stopped server from the stores of one configuration to those of another, in
// which the same profiles run. Nothing changes in the old stores. The journal must be empty, because its messages
// go to the old store. What was interrupted goes on with the next call.
func MoveStores(ctx context.Context, was, next *config.Config, dir string, progress func(backup.Progress)) ([]MovedStore,
	error) {
	if usesSharedJournal(was) || usesSharedJournal(next) {
		return nil, errors.New("the journal is in PostgreSQL: a move needs it on disk, in both configurations, (def journal \"disk\")")
	}
	if backup.Unfinished(dir) {
		return nil, fmt.Errorf("a restore into %s was not finished: run 'wamble restore' again", dir)
	}
	from, err := OpenStores(was.Running(), dir)
	if err != nil {
		return nil, err
	}
	defer CloseStores(from)
	to, err := OpenStores(next.Running(), dir)
	if err != nil {
		return nil, err
	}
	defer CloseStores(to)
	moves, err := pairStores(from, to)
	if err != nil {
		return nil, err
	}
	// Make sure that no server runs on a database or the journal, and that none starts on a file.
	since := time.Now().UTC()
	for _, m := range moves {
		for _, db := range []*SharedStore{m.from, m.to} {
			if err := refuseLive(ctx, db); err != nil {
				return nil, err
			}
			if db.File != "" {
				if err := db.Own(ctx, "", store.Owner{Host: "move-store", PID: os.Getpid(), Since: since}, 0); err != nil {
					return nil, err
				}
			}
		}
	}
	if _, err := os.Stat(JournalDir(dir)); err == nil {
		r, err := runner.Open(pebblestore.At(JournalDir(dir), pebblestore.Options{}),
			runner.Options{Schema: JournalSchema, Migrate: journal.Migrate})
		if errors.Is(err, runner.ErrLocked) {
			return nil, fmt.Errorf("a server uses %s: stop it first", dir)
		}
		if err != nil {
			return nil, fmt.Errorf("open the journal: %w", err)
		}
		defer r.Close()
		for _, m := range moves {
			for _, name := range m.from.Profiles {
				if err := forgetShards(ctx, r, dir, name); err != nil {
					return nil, err
				}
			}
		}
	}
	var list []MovedStore
	for _, m := range moves {
		stores := BackupStores([]*SharedStore{m.from, m.to})
		done, err := backup.Move(ctx, &stores[0], &stores[1], progress)
		if err == nil && m.from.File == "" {
			err = refuseLive(ctx, m.from) // a server with another journal may have come
		}
		if err != nil && !errors.Is(err, backup.ErrMoved) {
			return list, err
		}
		list = append(list, MovedStore{From: m.from.Name, To: m.to.Name, Profiles: m.from.Profiles, Moved: done})
	}
	return list, nil
}

// storeMove is one store that becomes another.
type storeMove struct{ from, to *SharedStore }

// pairStores returns which store becomes which. The profiles of a store stay together, because they share its
// players.
func pairStores(from, to []*SharedStore) (moves []storeMove, err error) {
	targets := map[string]*SharedStore{} // by profile
	for _, db := range to {
		for _, name := range db.Profiles {
			targets[name] = db
		}
	}
	for _, db := range from {
		first := targets[db.Profiles[0]]
		for _, name := range db.Profiles {
			switch target := targets[name]; {
			case target == nil:
				return nil, fmt.Errorf("the profile %s does not run in the new configuration", name)
			case target.database != first.database:
				return nil, fmt.Errorf("the profiles %s and %s share %s, and would get different databases: they can only move together",
					db.Profiles[0], name, db.Name)
			}
		}
		if first.database == db.database {
			continue
		}
		i := slices.IndexFunc(moves, func(m storeMove) bool { return m.from.database == db.database || m.to.database == first.database })
		switch {
		case i < 0:
			moves = append(moves, storeMove{db, first})
		case moves[i].from.database != db.database || moves[i].to.database != first.database:
			return nil, fmt.Errorf("%s and %s would become one database, or one would become two: a move takes each as it is",
				moves[i].from.Name, db.Name)
		default: // the same database with other settings
			moves[i].from.Profiles = append(moves[i].from.Profiles, db.Profiles...)
		}
	}
	if len(moves) == 0 {
		return nil, errors.New("both configurations name the same databases: there is nothing to move")
	}
	return moves, nil
}

// holderTimeout is how long Reshard waits for the lease of a stopped node on the journal in
// PostgreSQL to expire: five times the default lease.
const holderTimeout = 10 * time.Second

// connectTimeout bounds the connection to the journal's database of a process that serves nobody.
// A server has a shorter bound.
const connectTimeout = 10 * time.Second

// openLogs opens the logs of the journal's database for a process that serves nobody.
func openLogs(c *config.Config) (*pglog.Log, error) {
	db, err := journalDatabase(c)
	if err != nil {
		return nil, err
	}
	db.ConnectTimeout = connectTimeout
	return pglog.Open(pglog.Options{Database: db, Node: nodeName(c)}), nil
}

// openStoppedJournal returns the storage of a stopped server's journal, and its log; nil if the
// journal is on local disk. Partitions other than the first must be empty.
func openStoppedJournal(ctx context.Context, c *config.Config, dir string) (runner.Storage, *pglog.Log, error) {
	if !usesSharedJournal(c) {
		return pebblestore.At(JournalDir(dir), pebblestore.Options{}), nil, nil
	}
	log, err := openLogs(c)
	if err != nil {
		return nil, nil, err
	}
	if n, err := undrainedInPartitions(log, c, 1); err != nil || n > 0 {
		log.Close()
		if err == nil {
			err = fmt.Errorf("it has %d messages that the database lacks: start the server as it was, and stop it in order on all machines", n)
		}
		return nil, nil, fmt.Errorf("the journal %s: %w", sharedJournalLocation(c), err)
	}
	waiting, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	var last pglog.PartitionView
	if err := log.Await(waiting, c.Server.JournalName, func(s pglog.PartitionView) { last = s }); err != nil {
		log.Close()
		switch {
		case last.Err != nil:
			err = last.Err
		case last.Holder != "" && ctx.Err() == nil:
			err = fmt.Errorf("machine %s has it: stop the server there first, and every standby", last.Holder)
		}
		return nil, nil, fmt.Errorf("the journal %s: %w", sharedJournalLocation(c), err)
	}
	return logstore.New(log, c.Server.JournalName, logstore.Options{MaxBytes: c.Server.JournalMemory << 20}), log, nil
}

// forgetShards removes the restart files of a profile. It fails if the journal has messages
// of the profile that the database lacks.
func forgetShards(ctx context.Context, r *runner.Runner, dir, profile string) error {
	workers, err := journal.Workers(ctx, r)
	if err != nil {
		return err
	}
	for name, worker := range workers {
		if of, _ := store.SplitName(name); of != profile {
			continue
		}
		for _, in := range r.Stats().Inboxes {
			if in.Worker == uint64(worker) && in.Depth > 0 {
				return fmt.Errorf("the journal has %d messages of %s that the database lacks: start the server as it was, and stop it in order", in.Depth, name)
			}
		}
		if err := os.Remove(filepath.Join(dir, "restart", strconv.FormatUint(uint64(worker), 10))); err != nil &&
			!errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openReadOnly opens the journal of a stopped server for reading.
func openReadOnly(of runner.Storage) (*runner.Runner, error) {
	o := runner.Options{Schema: JournalSchema}
	r, err := runner.OpenReadOnly(of, o)
	if errors.Is(err, runner.ErrSchema) {
		o.Schema = journal.Oldest
		r, err = runner.OpenReadOnly(of, o)
	}
	return r, err
}

// undrainedOf returns the number of messages of a stopped journal that the games' database lacks.
func undrainedOf(of runner.Storage) (uint64, error) {
	r, err := openReadOnly(of)
	if errors.Is(err, runner.ErrNoSchema) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return undrained(r), r.Close()
}

// undrained returns the number of messages of an open journal that the games' database lacks.
func undrained(r *runner.Runner) (n uint64) {
	for _, in := range r.Stats().Inboxes {
		n += in.Depth
	}
	return n
}

// refuseUndrainedDisk refuses a journal in PostgreSQL while the journal on disk, which was used
// before, has messages that the games' database lacks.
func refuseUndrainedDisk(dir string) error {
	path := JournalDir(dir)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	n, err := undrainedOf(pebblestore.At(path, pebblestore.Options{}))
	switch {
	case err != nil:
		return fmt.Errorf("the journal in %s, which was used before: %w\nIf the database has everything, move it away",
			path, err)
	case n == 0:
		return nil
	}
	return fmt.Errorf("the journal in %s has %d messages that the database does not have yet\nStart once more with (def journal \"disk\"), stop the server in order, "+
		"which brings them there, and then start with (def journal \"postgres\")", path, n)
}

// undrainedInPartitions returns the number of messages that the games' database lacks in the
// partitions of a journal in PostgreSQL, from the partition first on.
func undrainedInPartitions(log *pglog.Log, c *config.Config, first int) (n uint64, err error) {
	for k := first; k < wamble.MaxShards && err == nil; k++ {
		var more uint64
		more, err = undrainedOf(logstore.New(log, pglog.PartName(c.Server.JournalName, k),
			logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
		n += more
	}
	return n, err
}

// refuseUndrainedShard refuses a new partition of the journal while the first one, which may have
// had all shards before, has messages of this shard.
func (s *Server) refuseUndrainedShard(shard int) error {
	of := logstore.New(s.sharedJournal.log, s.sharedJournal.name,
		logstore.Options{MaxBytes: s.o.Config.Server.JournalMemory << 20})
	r, err := runner.OpenReadOnly(of, runner.Options{Schema: JournalSchema})
	if errors.Is(err, runner.ErrNoSchema) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	for _, cfg := range s.o.Config.Running() {
		name := store.ShardName(cfg.Name, shard)
		number, ok := journal.NumberOf(r, name)
		for _, in := range r.Stats().Inboxes {
			if ok && in.Worker == uint64(number) && in.Depth > 0 {
				return fmt.Errorf("the journal %s has %d messages of %s from a time when it had all shards: "+
					"stop all machines, run the version that wrote them on one, and stop it in order",
					s.sharedJournal.name, in.Depth, name)
			}
		}
	}
	return nil
}

// refuseUndrainedPostgres refuses a journal on disk while the one in PostgreSQL, which was used
// before according to the mark, has messages that the games' database lacks.
func refuseUndrainedPostgres(dir string, c *config.Config) error {
	was, err := readMarker(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const advice = "Start once more with (def journal \"postgres\"), on no other machine, stop the server in order, which brings everything to the database of the games, " +
		"and then start with (def journal \"disk\"), with the options journal-* as they are. To give up what is there, delete %s"
	mark, n := markerFile(dir), uint64(0)
	if now := sharedJournalLocation(c); now != was.location {
		if !was.emptied {
			err = fmt.Errorf("the options journal-* name %s now", now)
		}
	} else if log, openErr := openLogs(c); openErr != nil {
		err = openErr
	} else {
		defer log.Close()
		n, err = undrainedInPartitions(log, c, 0)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the journal %s, which was used before: %w\n"+advice, was.location, err, mark)
	case n > 0:
		return fmt.Errorf("the journal %s has %d messages that the database of the games does not have yet\n"+advice,
			was.location, n, mark)
	}
	return os.Remove(mark)
}

// refuseUndrainedOtherJournal refuses a journal in PostgreSQL while another one there, which was used
// before according to the mark, may have messages that the games' database lacks. The same
// journal at another address is accepted.
func refuseUndrainedOtherJournal(dir string, c *config.Config) error {
	was, err := readMarker(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now := sharedJournalLocation(c)
	if now == was.location || was.emptied {
		return nil
	}
	same, err := was.isOf(c)
	if same {
		return nil
	}
	why := fmt.Errorf("the options journal-* name %s now", now)
	if err != nil {
		why = fmt.Errorf("%w, and it is unknown whether that is the same journal: %w", why, err)
	}
	return fmt.Errorf("the journal %s, which was used before: %w\nStart once more with the options journal-* and db-* as they were, on no other machine, "+
		"stop the server in order, which brings everything to the database of the games, and then start with those of now. To give up what is there, delete %s",
		was.location, why, markerFile(dir))
}
