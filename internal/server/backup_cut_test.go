package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble/internal/backup"
	"wamble/internal/config"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
)

// TestBackupGoesOnFromEveryStep: a backup of games in a file or in a database that was
// interrupted at any step goes on from there.
func TestBackupGoesOnFromEveryStep(t *testing.T) {
	t.Parallel()
	text := conf("")
	s := serve(t, Options{}, text).ready()
	c := gather(t, s.address(), 2)
	c.play()
	c.more(t, 20)
	c.finish()
	file, database := BackupStores(s.stores.all()), BackupStores(s.stores.all())
	database[0].File = "" // somebody else copies it
	steps := []string{"hold", "id", "games.db", "dump", "checkpoint", "journal", "journal copied", "kept"}
	for name, stores := range map[string][]backup.Store{"file": file, "database": database} {
		for _, step := range steps {
			if name == "database" && step == "games.db" {
				continue
			}
			t.Run(name+", "+step, func(t *testing.T) {
				to := filepath.Join(t.TempDir(), "backup")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				at := func(now string) error {
					if now == step {
						cancel()
					}
					return ctx.Err()
				}
				from := backup.Source{
					Dir: s.dir, Stores: stores,
					Journal: func(context.Context) (store.JournalID, error) {
						return store.JournalID(s.runner.JournalID()), at("id")
					},
					Hold: func(_ context.Context, d time.Duration) error {
						s.pinMessages(time.Now().Add(d))
						return at("hold")
					},
					Dump: func(context.Context) error { return at("dump") },
					Checkpoint: func(_ context.Context, dir string) error {
						if err := at("checkpoint"); err != nil {
							return err
						}
						return s.runner.Checkpoint(dir)
					},
				}
				_, err := backup.Run(ctx, from, to, func(p backup.Progress) {
					if p.What == "journal" && p.All > 0 {
						p.What = "journal copied"
					}
					at(p.What)
				})
				if ctx.Err() == nil || err == nil {
					t.Fatalf("it was not interrupted: %v", err)
				}
				step = ""
				ctx = t.Context()
				if m, err := backup.Run(ctx, from, to, nil); err != nil || m.Ended.IsZero() {
					t.Fatalf("it does not go on: %v", err)
				}
				if name == "file" {
					restoreTo(t, loadConf(t, text), to, filepath.Join(t.TempDir(), "data"))
				}
			})
		}
	}
}

// TestBackupGoesOnWithoutManifest: a half-written manifest is no obstacle, other files are.
func TestBackupGoesOnWithoutManifest(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	for name, ok := range map[string]bool{"backup.json.new": true, "notes.txt": false} {
		to := t.TempDir()
		if err := os.WriteFile(filepath.Join(to, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Backup(t.Context(), to); (err == nil) != ok {
			t.Errorf("beside %s: %v", name, err)
		}
	}
}

// TestScheduledBackupGetsItsName: a complete backup that had no name yet when the server was
// killed gets its name, and is not made again.
func TestScheduledBackupGetsItsName(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	dir := t.TempDir()
	m, err := s.Backup(t.Context(), filepath.Join(dir, "unfinished"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no copy can succeed any more, and none waits
	s.scheduledBackup(ctx, dir, 2)
	if got := backupNames(dir); len(got) != 1 || got[0] != backupPrefix+m.Ended.Format(backupLayout) {
		t.Errorf("got %q", got)
	}
}

// TestBackupsOneAtATime: while a backup of a data directory runs, another one is refused with
// that reason and changes nothing, and a scheduled one waits for its turn.
func TestBackupsOneAtATime(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	dir, scheduled := t.TempDir(), t.TempDir()
	second := filepath.Join(dir, "second")
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) { return store.JournalID(s.runner.JournalID()), nil },
		Checkpoint: func(ctx context.Context, to string) error {
			err := s.runner.Checkpoint(to)
			for _, name := range []string{second, second + ".tar"} {
				if _, err := backup.To(ctx, backup.Stopped(s.dir, nil), name, nil); !errors.Is(err,
					backup.ErrUnderWay) {
					t.Errorf("a second backup, %s: got %v", name, err)
				}
			}
			s.scheduledBackup(ctx, scheduled, 2)
			return err
		},
	}
	if _, err := backup.Run(t.Context(), from, filepath.Join(dir, "first"), nil); err != nil {
		t.Errorf("the first backup: %v", err)
	}
	if got, err := os.ReadDir(dir); err != nil || len(got) != 1 {
		t.Errorf("the second one has left %v, %v", got, err)
	}
	if s.scheduledBackup(t.Context(), scheduled, 2); len(backupNames(scheduled)) != 1 {
		t.Errorf("there is no scheduled backup afterwards\n%s", s.log.String())
	}
	if strings.Contains(s.log.String(), "the backup has failed") {
		t.Errorf("the scheduled one called its turn a failure\n%s", s.log.String())
	}
}

// TestRestoreRefusesEarlierDatabase: a database that was restored to a moment before the
// backup is refused, and one of a later moment is taken then.
func TestRestoreRefusesEarlierDatabase(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def journal-keep 0)")).ready()
	c := gather(t, s.address(), 2)
	dir := t.TempDir()
	dump := func(name string) string {
		t.Helper()
		to := filepath.Join(dir, name)
		if err := sqlite.Copy(t.Context(), filepath.Join(s.dir, "games.db"), to, nil); err != nil {
			t.Fatal(err)
		}
		return to
	}
	c.play()
	c.more(t, 20)
	early := dump("early.db")
	c.more(t, 20)
	c.finish()
	until(t, "messages have left the journal", func() bool { return depth(s.runner.Stats()) == 0 })
	if err := os.RemoveAll(filepath.Join(s.dir, "kept")); err != nil {
		t.Fatal(err)
	}
	stores := BackupStores(s.stores.all())
	stores[0].File = "" // it stands for a database
	from := backup.Source{
		Dir: s.dir, Stores: stores,
		Journal: func(context.Context) (store.JournalID, error) {
			return store.JournalID(s.runner.JournalID()),
				nil
		},
		Checkpoint: func(_ context.Context, to string) error { return s.runner.Checkpoint(to) },
	}
	m, err := backup.Run(t.Context(), from, filepath.Join(dir, "backup"), nil)
	if err != nil {
		t.Fatal(err)
	}
	late, data := dump("late.db"), filepath.Join(dir, "data")
	restore := func(database string) error {
		_, err := backup.Restore(t.Context(), filepath.Join(dir, "backup"),
			backup.Target{Dir: data, Stores: func() ([]backup.Store, error) {
				db, err := sqlite.Open(sqlite.Options{Path: database})
				return []backup.Store{{Store: db, Name: "PostgreSQL", Profiles: stores[0].Profiles}}, err
			}}, nil)
		return err
	}
	if err := restore(early); !errors.Is(err, backup.ErrEarlier) ||
		!strings.Contains(err.Error(), m.Began.Format(time.RFC3339)[:19]) {
		t.Errorf("of a database from before: %v", err)
	}
	if !backup.Unfinished(data) {
		t.Error("a server would start on it")
	}
	if err := restore(late); err != nil {
		t.Errorf("of a database of its time: %v", err)
	}
}

// TestCheckSharedJournal: the check of a directory whose journal is in PostgreSQL does not
// report a missing journal, and checks what is in the directory.
func TestCheckSharedJournal(t *testing.T) {
	t.Parallel()
	c, dir := loadConf(t, conf(postgresConf(pgtest.Migrated(t))+`(def journal "postgres")`)), t.TempDir()
	if got := check(t, c, dir); got != "" {
		t.Errorf("of a sound directory it says %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "admin-tokens.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := check(t, c, dir); !strings.Contains(got, "give tokens again") {
		t.Errorf("of damaged tokens it says %q", got)
	}
}

// TestRestoreWithinDirectory: a file is unpacked in the data directory, the only place where
// the server's user may write, and removed afterwards.
func TestRestoreWithinDirectory(t *testing.T) {
	t.Parallel()
	text := conf("")
	s := serve(t, Options{}, text).ready()
	s.end()
	stores, err := OpenStores(loadConf(t, text).Running(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseStores(stores)
	file := filepath.Join(t.TempDir(), "backup.tar")
	if _, err := backup.To(t.Context(), backup.Stopped(s.dir, BackupStores(stores)), file, nil); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "data")
	// Root may write to any directory, so the test checks the directory while games are
	// opened.
	open := func() ([]backup.Store, error) {
		if got, err := os.ReadDir(parent); err != nil || len(got) != 1 {
			t.Errorf("beside the data directory there are %v, %v", got, err)
		}
		stores, err := OpenStores(loadConf(t, text).Running(), dir)
		return BackupStores(stores), err
	}
	if _, err := backup.From(t.Context(), file, backup.Target{Dir: dir, Stores: open}, nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "restore-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	sound(t, loadConf(t, text), dir)
}

// TestBackupDue: a backup is made when backup-every has passed, and never of a journal in
// PostgreSQL, where each would fail.
func TestBackupDue(t *testing.T) {
	t.Parallel()
	own := serve(t, Options{}, conf("")).ready()
	shared := serve(t, Options{}, conf(postgresConf(pgtest.Migrated(t))+`(def journal "postgres")`)).ready()
	o := config.Backups{Dir: t.TempDir(), Every: time.Hour}
	if err := os.Mkdir(filepath.Join(o.Dir, "wamble-20261116T120000Z"), 0o700); err != nil {
		t.Fatal(err)
	}
	last := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		s    *Server
		o    config.Backups
		at   time.Time
		want bool
	}{
		"not yet":             {own.Server, o, last.Add(time.Hour - 1), false},
		"now":                 {own.Server, o, last.Add(time.Hour), true},
		"nowhere":             {own.Server, config.Backups{Every: time.Hour}, last.Add(time.Hour), false},
		"a journal elsewhere": {shared.Server, o, last.Add(time.Hour), false},
	} {
		if got := tc.s.backupDue(tc.o, tc.at); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
