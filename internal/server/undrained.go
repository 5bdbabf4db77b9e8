package server

import (
	"errors"
	"fmt"
	"os"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/pebblestore"
)

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
		return fmt.Errorf("the journal in %s, which was used before: %w\nIf the database has everything, move it away", path, err)
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
		more, err = undrainedOf(logstore.New(log, pglog.PartName(c.Server.JournalName, k), logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
		n += more
	}
	return n, err
}

// refuseUndrainedShard refuses a new partition of the journal while the first one, which may have
// had all shards before, has messages of this shard.
func (s *Server) refuseUndrainedShard(shard int) error {
	of := logstore.New(s.sharedJournal.log, s.sharedJournal.name, logstore.Options{MaxBytes: s.o.Config.Server.JournalMemory << 20})
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
					"stop all machines, run the version that wrote them on one, and stop it in order", s.sharedJournal.name, in.Depth, name)
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
	} else if log, openErr := openLogsReadOnly(c); openErr != nil {
		err = openErr
	} else {
		defer log.Close()
		n, err = undrainedInPartitions(log, c, 0)
	}
	switch {
	case err != nil:
		return fmt.Errorf("the journal %s, which was used before: %w\n"+advice, was.location, err, mark)
	case n > 0:
		return fmt.Errorf("the journal %s has %d messages that the database of the games does not have yet\n"+advice, was.location, n, mark)
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
