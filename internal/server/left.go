package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/pebblestore"
)

// left counts the messages of a journal that the games' database does not have yet.
func left(of runner.Storage) (n uint64, err error) {
	o := runner.Options{Schema: JournalSchema}
	r, err := runner.OpenReadOnly(of, o)
	if errors.Is(err, runner.ErrSchema) {
		o.Schema = journal.Oldest
		r, err = runner.OpenReadOnly(of, o)
	}
	if errors.Is(err, runner.ErrNoSchema) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, in := range r.Stats().Inboxes {
		n += in.Depth
	}
	return n, r.Close()
}

// leftOnDisk refuses a journal in PostgreSQL while the one in the data directory, which
// was used before, has what the games' database has not.
func leftOnDisk(dir string) error {
	path := JournalDir(dir)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	n, err := left(pebblestore.At(path, pebblestore.Options{}))
	switch {
	case err != nil:
		return fmt.Errorf("the journal in %s, which was used before: %w\nIf the database has everything, move it away", path, err)
	case n == 0:
		return nil
	}
	return fmt.Errorf("the journal in %s has %d messages that the database does not have yet\nStart once more with (def journal \"disk\"), stop the server in order, "+
		"which brings them there, and then start with (def journal \"postgres\")", path, n)
}

// sharedMark is the file of a data directory that says where the journal in PostgreSQL
// is that its server used last.
func sharedMark(dir string) string { return filepath.Join(dir, "journal-in-postgres") }

func markShared(dir string, c *config.Config) error {
	return os.WriteFile(sharedMark(dir), []byte(sharedPlace(c)), 0o600)
}

// leftInPostgres refuses a journal on disk while the one in PostgreSQL, which was used
// before, has what the games' database has not.
func leftInPostgres(dir string, c *config.Config) error {
	mark := sharedMark(dir)
	was, err := os.ReadFile(mark)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const advice = "Start once more with (def journal \"postgres\"), on no other machine, stop the server in order, which brings everything to the database of the games, " +
		"and then start with (def journal \"disk\"), with the options journal-* as they are. To give up what is there, delete %s"
	n := uint64(0)
	if now := sharedPlace(c); now != string(was) {
		err = fmt.Errorf("the options journal-* name %s now", now)
	} else if db, dbErr := journalDatabase(c); dbErr != nil {
		err = dbErr
	} else {
		log := pglog.Open(pglog.Options{Database: db, Node: nodeName(c)})
		defer log.Close()
		n, err = left(logstore.New(log, c.Server.JournalName, logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
	}
	switch {
	case err != nil:
		return fmt.Errorf("the journal %s, which was used before: %w\n"+advice, was, err, mark)
	case n > 0:
		return fmt.Errorf("the journal %s has %d messages that the database of the games does not have yet\n"+advice, was, n, mark)
	}
	return os.Remove(mark)
}
