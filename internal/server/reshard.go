package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/pebblestore"
)

// Reshard changes how many shards the world of a profile has, while no server runs. The
// journal must be empty: what is in it was decided for the shards of before. Boards
// that are held become free.
func Reshard(ctx context.Context, c *config.Config, dir string, cfg *config.Profile, n int) error {
	if n < 1 || n > wamble.MaxShards || n&(n-1) != 0 {
		return fmt.Errorf("a profile has 1, 2, 4, 8, 16, 32 or 64 shards, not %d", n)
	}
	stores, err := OpenStores([]*config.Profile{cfg}, dir)
	if err != nil {
		return err
	}
	defer CloseStores(stores)
	db := stores[0]
	if other, err := loop.Heard(ctx, db.Store, db.silence, nil); err != nil {
		return err
	} else if other != nil {
		return fmt.Errorf("a server runs on %s (%s): stop it first", db.Name, other.By)
	}
	storage, done, err := stoppedJournal(ctx, c, dir)
	if err != nil {
		return err
	}
	defer done()
	r, err := runner.Open(storage, runner.Options{Schema: JournalSchema, Create: true, Migrate: journal.Migrate})
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("a server uses %s: stop it first", dir)
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer r.Close()
	if err := db.Migrate(ctx, nil); err != nil {
		return err
	}
	if err := forgetShards(ctx, r, dir, cfg.Name); err != nil {
		return err
	}
	if err := db.SetShards(ctx, cfg.Name, n); err != nil {
		return err
	}
	return journal.SetShards(ctx, r, cfg.Name, n)
}

// holderTime is how long the journal in PostgreSQL may be held by a machine that was
// stopped: a little longer than its lease.
const holderTime = 10 * time.Second

// stoppedJournal is the journal of a server that does not run. Done is called at the end.
func stoppedJournal(ctx context.Context, c *config.Config, dir string) (of runner.Storage, done func(), err error) {
	if !clustered(c) {
		return pebblestore.At(JournalDir(dir), pebblestore.Options{}), func() {}, nil
	}
	db, err := journalDatabase(c)
	if err != nil {
		return nil, nil, err
	}
	log := pglog.Open(pglog.Options{Database: db, Node: nodeName(c)})
	if n, err := leftInParts(log, c, 1); err != nil || n > 0 {
		log.Close()
		if err == nil {
			err = fmt.Errorf("it has %d messages that the database lacks: start the server as it was, and stop it in order on all machines", n)
		}
		return nil, nil, fmt.Errorf("the journal %s: %w", sharedPlace(c), err)
	}
	waiting, cancel := context.WithTimeout(ctx, holderTime)
	defer cancel()
	var last pglog.Sight
	if err := log.Await(waiting, c.Server.JournalName, func(s pglog.Sight) { last = s }); err != nil {
		log.Close()
		switch {
		case last.Err != nil:
			err = last.Err
		case last.Holder != "" && ctx.Err() == nil:
			err = fmt.Errorf("machine %s has it: stop the server there first, and every standby", last.Holder)
		}
		return nil, nil, fmt.Errorf("the journal %s: %w", sharedPlace(c), err)
	}
	return logstore.New(log, c.Server.JournalName, logstore.Options{MaxBytes: c.Server.JournalMemory << 20}), log.Close, nil
}

// forgetShards removes the restart files of a profile whose journal is empty.
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
		if err := os.Remove(filepath.Join(dir, "restart", strconv.FormatUint(uint64(worker), 10))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
