package server

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/backup"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
	runneradmin "wamble/runner/admin"
)

// sourceOf returns what a backup copies of a server in another process, as 'wamble backup'
// does it.
func sourceOf(t testing.TB, c *config.Config, dir string) backup.Source {
	t.Helper()
	stores, err := OpenStores(c.Running(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseStores(stores) })
	return backup.Source{
		Dir: dir, Stores: BackupStores(stores),
		Journal: func(ctx context.Context) (store.JournalID, error) {
			var stats runner.Stats
			err := admin.Ask(ctx, dir, "runner-stats", nil, &stats)
			return store.JournalID(stats.Journal), err
		},
		Hold: func(ctx context.Context, d time.Duration) error {
			return admin.Ask(ctx, dir, "backup-hold", admin.PinFor{Seconds: int(d.Seconds())}, &struct{}{})
		},
		Checkpoint: func(ctx context.Context, to string) error {
			var stats runner.Stats
			return admin.Ask(ctx, dir, "runner-checkpoint", admin.CheckpointTo{Dir: to}, &stats)
		},
	}
}

// restoreTo restores a backup, and checks everything.
func restoreTo(t testing.TB, c *config.Config, from, dir string) {
	t.Helper()
	open := func() ([]backup.Store, error) {
		stores, err := OpenStores(c.Running(), dir)
		return BackupStores(stores), err
	}
	if _, err := backup.From(t.Context(), from, backup.Target{Dir: dir, Stores: open}, nil); err != nil {
		t.Fatal(err)
	}
	sound(t, c, dir)
}

// sound checks a data directory.
func sound(t testing.TB, c *config.Config, dir string) {
	t.Helper()
	stores, err := OpenStores(c.Running(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseStores(stores)
	for _, f := range CheckData(t.Context(), c, dir, stores) {
		if f.Bad() {
			t.Errorf("%s: %s. %s", f.Subject, f.Text, f.Advice)
		}
	}
}

// TestBackup: a server is backed up while players play, and then killed. A restore in another
// directory has everything that was acknowledged before the journal was copied, although
// retention is off and messages went to the games between the two copies; and every board is
// in one shard.
func TestBackup(t *testing.T) {
	for _, tp := range []*topology{oneLoop, fourShards} {
		t.Run(tp.name, func(t *testing.T) {
			t.Parallel()
			dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backup.tar")
			text := staying(t, conf("(def journal-keep 0)"+tp.options))
			s := spawn(t, dir, text)
			c := gather(t, s.address(), 8)
			if tp == fourShards {
				c = spread(t, s.address())
			}
			c.play()
			c.more(t, 200)
			from := sourceOf(t, loadConf(t, text), dir)
			checkpoint := from.Checkpoint
			from.Checkpoint = func(ctx context.Context, dir string) error {
				c.more(t, 300) // after the games that were copied
				c.finish()
				var stats runner.Stats
				until(t, "messages have left the journal", func() bool {
					err := admin.Ask(ctx, from.Dir, "runner-stats", nil, &stats)
					return err == nil && depth(stats) == 0
				})
				return checkpoint(ctx, dir)
			}
			m, err := backup.To(t.Context(), from, to, nil)
			if err != nil {
				t.Fatal(err)
			}
			if p := m.Profiles[0]; p.Last <= p.Cursor {
				t.Errorf("the games were copied up to message %d, and the journal ends at %d: nothing is proved",
					p.Cursor, p.Last)
			}
			s.kill()
			remote := filepath.Join(t.TempDir(), "data")
			restoreTo(t, loadConf(t, text), to, remote)
			spawn(t, remote, text).end()
			db := openSQLite(t, remote)
			c.verify(t, db)
			if tp == fourShards {
				c.checkPlaces(t, db, 4)
			}
		})
	}
}

func depth(s runner.Stats) (n uint64) {
	for _, in := range s.Inboxes {
		n += in.Depth
	}
	return n
}

// TestBackupPaused: a restore brings messages to the games that waited in a paused queue when
// the backup was made.
func TestBackupPaused(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backup.tar")
	text := staying(t, conf(""))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 4)
	var stats runner.Stats
	if err := admin.Ask(t.Context(), dir, "runner-stats", nil, &stats); err != nil {
		t.Fatal(err)
	}
	for _, in := range stats.Inboxes {
		if err := admin.Ask(t.Context(), dir, "runner-pause",
			runneradmin.Args{Queue: strconv.FormatUint(in.Worker, 10)}, &runneradmin.Done{}); err != nil {
			t.Fatal(err)
		}
	}
	c.play()
	c.more(t, 20)
	c.finish()
	if err := admin.Ask(t.Context(), dir, "runner-stats", nil, &stats); err != nil || depth(stats) == 0 {
		t.Fatalf("got %d messages that wait, %v: nothing is proved", depth(stats), err)
	}
	if _, err := backup.To(t.Context(), sourceOf(t, loadConf(t, text), dir), to, nil); err != nil {
		t.Fatal(err)
	}
	s.kill()
	remote := filepath.Join(t.TempDir(), "data")
	restoreTo(t, loadConf(t, text), to, remote)
	verifySQLite(t, remote, c)
}

// TestBackupPostgres: the games are dumped while the server retains later messages; the order
// of steps is the backup's.
func TestBackupPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	text := staying(t, conf(postgresConf(db)+"(def journal-keep 0)"))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 100)
	from := sourceOf(t, loadConf(t, text), dir)
	from.Dump = func(context.Context) error {
		c.finish()
		cluster.Down(t)
		cluster.Remember(t)
		cluster.Up(t)
		c.play()
		c.more(t, 100)
		c.finish()
		var stats runner.Stats
		until(t, "messages have left the journal", func() bool {
			err := admin.Ask(t.Context(), dir, "runner-stats", nil, &stats)
			return err == nil && depth(stats) == 0
		})
		return nil
	}
	if _, err := backup.Run(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	s.kill()
	cluster.Down(t)
	cluster.GoBack(t)
	cluster.Up(t)
	restoreTo(t, loadConf(t, text), to, filepath.Join(t.TempDir(), "data"))
	c.verify(t, openPostgres(t, db))
}

// TestBackupGoesOn: a backup that was interrupted uses the games that it has copied, unless
// later messages are not retained any more; an incomplete one is no backup.
func TestBackupGoesOn(t *testing.T) {
	t.Parallel()
	text := conf("(def journal-keep 0)")
	s := serve(t, Options{}, text).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 50)
	to, cut := filepath.Join(t.TempDir(), "backup"), errors.New("cut")
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) {
			return store.JournalID(s.runner.JournalID()),
				nil
		},
		Hold:       func(context.Context, time.Duration) error { return nil }, // nothing is kept
		Checkpoint: func(context.Context, string) error { return cut },
	}
	if _, err := backup.Run(t.Context(), from, to, nil); !errors.Is(err, cut) {
		t.Fatalf("got %v", err)
	}
	if _, err := backup.Restore(t.Context(), to, backup.Target{Dir: t.TempDir()}, nil); !errors.Is(err,
		backup.ErrNoBackup) {
		t.Errorf("a backup that is not whole was restored: %v", err)
	}
	c.more(t, 50)
	c.finish()
	until(t, "messages have left the journal", func() bool { return depth(s.runner.Stats()) == 0 })
	// Without the retained messages the copied games are useless.
	if err := os.RemoveAll(filepath.Join(s.dir, "kept")); err != nil {
		t.Fatal(err)
	}
	m, err := s.Backup(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if p := m.Profiles[0]; p.Cursor != p.Last {
		t.Errorf("the games have messages up to %d of %d: they were not copied again", p.Cursor, p.Last)
	}
	if _, err := s.Backup(t.Context(), to); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a backup was overwritten: %v", err)
	}
	s.end()
	dir := t.TempDir()
	restoreTo(t, loadConf(t, text), to, dir)
	verifySQLite(t, dir, c)
}

// TestBackupKeepsItsCopy: a backup that was interrupted does not copy the games again when it
// goes on, if what came after them is retained; it reports its progress.
func TestBackupKeepsItsCopy(t *testing.T) {
	t.Parallel()
	text := conf("(def journal-keep 0)")
	s := serve(t, Options{}, text).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 50)
	to, cut := filepath.Join(t.TempDir(), "backup"), errors.New("cut")
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) {
			return store.JournalID(s.runner.JournalID()),
				nil
		},
		Hold:       func(_ context.Context, d time.Duration) error { s.pinMessages(time.Now().Add(d)); return nil },
		Checkpoint: func(context.Context, string) error { return cut },
	}
	run := func() (m backup.Manifest, told map[string]backup.Progress, err error) {
		told = map[string]backup.Progress{}
		m, err = backup.Run(t.Context(), from, to, func(p backup.Progress) { told[p.What] = p })
		return m, told, err
	}
	whole := func(p backup.Progress) bool { return p.All > 0 && p.Done == p.All }
	_, told, err := run()
	if _, ended := told["kept"]; !errors.Is(err, cut) || !whole(told["games.db"]) || ended {
		t.Fatalf("got %v, and progress %v", err, told)
	}
	copied, err := os.ReadFile(filepath.Join(to, "games.db"))
	if err != nil {
		t.Fatal(err)
	}
	c.more(t, 50)
	c.finish()
	until(t, "messages have left the journal", func() bool { return depth(s.runner.Stats()) == 0 })

	from.Checkpoint = func(_ context.Context, dir string) error { return s.runner.Checkpoint(dir) }
	m, told, err := run()
	if err != nil {
		t.Fatal(err)
	}
	if _, again := told["games.db"]; again || !whole(told["journal"]) {
		t.Errorf("progress: got %v, want the journal alone", told)
	}
	if now, err := os.ReadFile(filepath.Join(to, "games.db")); err != nil || !bytes.Equal(now, copied) {
		t.Errorf("the games were copied again: %v", err)
	}
	if p := m.Profiles[0]; p.Cursor >= p.Last {
		t.Errorf("the games have messages up to %d of %d: nothing is proved", p.Cursor, p.Last)
	}
	s.end()
	dir := t.TempDir()
	restoreTo(t, loadConf(t, text), to, dir)
	verifySQLite(t, dir, c)
}

// TestBackupFindsGap: a backup fails if messages were not retained, instead of having a gap.
func TestBackupFindsGap(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("(def journal-keep 0)")).ready()
	c := gather(t, s.address(), 2)
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) { return store.JournalID(s.runner.JournalID()), nil },
		Checkpoint: func(_ context.Context, dir string) error {
			c.play()
			c.more(t, 50)
			c.finish()
			until(t, "messages have left the journal", func() bool { return depth(s.runner.Stats()) == 0 })
			if err := os.RemoveAll(filepath.Join(s.dir, "kept")); err != nil {
				return err
			}
			return s.runner.Checkpoint(dir)
		},
	}
	if _, err := backup.Run(t.Context(), from, filepath.Join(t.TempDir(), "backup"), nil); !errors.Is(err,
		journal.ErrGap) {
		t.Errorf("got %v, want a gap", err)
	}
}

// TestScheduledBackups: a server makes backups by itself, and keeps the configured number.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	to := t.TempDir()
	for _, name := range []string{"wamble-20010101T000000Z", "wamble-20010102T000000Z", "other"} {
		if err := os.Mkdir(filepath.Join(to, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, Options{}, conf(`(def backup-keep 2) (def backup-dir "`+to+`")`)).ready()
	until(t, "there is a backup, and an old one less", func() bool {
		names := backupNames(to)
		return len(names) == 2 && names[0] == "wamble-20010102T000000Z" &&
			strings.Contains(s.log.String(), "a backup was made")
	})
	if m, err := backup.ReadManifest(filepath.Join(to, backupNames(to)[1])); err != nil || m.Ended.IsZero() {
		t.Errorf("the backup is not whole: %v", err)
	}
	if _, err := os.Stat(filepath.Join(to, "other")); err != nil {
		t.Error("what is no backup was deleted")
	}
}

// TestCheckFindsDamage: the check reports each damage of a data directory with advice.
func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	text := conf("")
	s := serve(t, Options{}, text).ready()
	c := gather(t, s.address(), 2)
	c.play()
	c.more(t, 20)
	c.finish()
	if got := check(t, loadConf(t, text), s.dir); !strings.Contains(got, "a server runs on it") {
		t.Errorf("of a running server it says %q", got)
	}
	s.end()
	sound(t, loadConf(t, text), s.dir)
	path := filepath.Join(s.dir, "games.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte{}, whole...)
	copy(broken[4096:], make([]byte, 4096))
	for _, tc := range []struct {
		name, want string
		games      []byte
	}{
		{"a page of zeros", "restore a backup", broken},
		{"no database", "no SQLite database", []byte(strings.Repeat("x", 4096))},
	} {
		if err := os.WriteFile(path, tc.games, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := check(t, loadConf(t, text), s.dir); !strings.Contains(got, tc.want) {
			t.Errorf("%s: it says %q", tc.name, got)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(JournalDir(s.dir)); err != nil {
		t.Fatal(err)
	}
	if got := check(t, loadConf(t, text), s.dir); !strings.Contains(got, "there is none") {
		t.Errorf("without a journal it says %q", got)
	}
}

// TestCheckFindsContradictions: files that are whole but contradict each other are reported
// with advice: rows that point to nothing, moves that do not lead to a board's position or
// version, messages that neither games nor journal have, a journal that is older than the
// games, and what a crash has left for the next start.
func TestCheckFindsContradictions(t *testing.T) {
	t.Parallel()
	dir, text := t.TempDir(), staying(t, conf(""))
	s := spawn(t, dir, text)
	c := gather(t, s.address(), 2)
	c.play()
	c.more(t, 20)
	awaitRestartFile(t, dir, 1)
	c.finish()
	var stats runner.Stats
	until(t, "messages have left the journal", func() bool {
		err := admin.Ask(t.Context(), dir, "runner-stats", nil, &stats)
		return err == nil && depth(stats) == 0
	})
	s.kill()
	for _, tc := range []struct {
		name, want string
		damage     func(t *testing.T, dir string)
	}{
		{"nothing", "", func(*testing.T, string) {}},
		{"moves without their board", "damaged: ", execute("PRAGMA foreign_keys = OFF; DELETE FROM boards WHERE id = (SELECT board_id FROM move_runs LIMIT 1)")},
		{"another position", "but its moves lead to", execute("UPDATE boards SET fen = '8/8/8/8/8/8/8/K1k5 w - - 0 1' WHERE id = (SELECT board_id FROM move_runs LIMIT 1)")},
		{"an old version", "its version is 0 after", execute("UPDATE boards SET version = 0 WHERE id = (SELECT board_id FROM move_runs LIMIT 1)")},
		{"games from before, without what was kept", "the games have less than they had",
			func(t *testing.T, dir string) {
				execute("UPDATE journal_cursors SET message = 1")(t, dir)
				if err := os.RemoveAll(filepath.Join(dir, "kept")); err != nil {
					t.Fatal(err)
				}
			}},
		{"a journal from before", "the journal ends at", execute("UPDATE journal_cursors SET message = message + 1000")},
		{"damaged memory", "Delete it: the next start reads the database", func(t *testing.T, dir string) {
			for name := range restartFiles(t, dir) {
				path := filepath.Join(dir, "restart", name)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text[len(text)/2] ^= 1
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"damaged tokens", "give tokens again", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "admin-tokens.json"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			copied := filepath.Join(t.TempDir(), "data")
			if err := os.CopyFS(copied, onlyFiles{os.DirFS(dir)}); err != nil {
				t.Fatal(err)
			}
			tc.damage(t, copied)
			if got := check(t, loadConf(t, text), copied); !strings.Contains(got, tc.want) ||
				(got == "") != (tc.want == "") {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// onlyFiles hides the control socket, which cannot be copied.
type onlyFiles struct{ fs.FS }

func (o onlyFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(list, func(d fs.DirEntry) bool { return !d.IsDir() && !d.Type().IsRegular() }), err
}

// execute changes the games of a data directory by SQL.
func execute(statements string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		db, err := sql.Open("sqlite", filepath.Join(dir, "games.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), statements); err != nil {
			t.Fatal(err)
		}
	}
}

// check returns the faults of a data directory, as text.
func check(t testing.TB, c *config.Config, dir string) string {
	t.Helper()
	stores, err := OpenStores(c.Running(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer CloseStores(stores)
	var b strings.Builder
	for _, f := range CheckData(t.Context(), c, dir, stores) {
		if f.Bad() {
			b.WriteString(f.Subject + ": " + f.Text + ". " + f.Advice + "\n")
		}
	}
	return b.String()
}
