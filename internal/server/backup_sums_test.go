package server

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble/internal/backup"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
)

// backupWithAll makes a backup that has every kind of file: a manifest, games, a journal, and
// retained messages.
func backupWithAll(t *testing.T, s *here) (dir string) {
	t.Helper()
	c := gather(t, s.address(), 2)
	c.play()
	c.more(t, 20)
	dir = filepath.Join(t.TempDir(), "backup")
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) { return store.JournalID(s.runner.JournalID()), nil },
		Hold:    func(_ context.Context, d time.Duration) error { s.pinMessages(time.Now().Add(d)); return nil },
		Checkpoint: func(_ context.Context, to string) error {
			c.more(t, 20)
			c.finish()
			until(t, "messages have left the journal", func() bool { return depth(s.runner.Stats()) == 0 })
			return s.runner.Checkpoint(to)
		},
	}
	if _, err := backup.Run(t.Context(), from, dir, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kindsOf returns the files of a backup by kind: the name of the file or directory in the backup.
func kindsOf(t *testing.T, dir string) (kinds map[string][]string) {
	t.Helper()
	kinds = map[string][]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); ierr == nil && info.Mode().IsRegular() && info.Size() > 0 {
			kind, _, _ := strings.Cut(name, "/")
			kinds[kind] = append(kinds[kind], name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// refused fails unless a restore refuses a backup that has changed, before it writes anything.
func refused(t *testing.T, what, name string) {
	t.Helper()
	data := t.TempDir()
	_, err := backup.From(t.Context(), name, backup.Target{Dir: data, Stores: func() ([]backup.Store, error) {
		return nil, errors.New("the files were copied")
	}}, nil)
	if left, _ := os.ReadDir(data); len(left) > 0 {
		t.Errorf("%s: the restore wrote %v", what, left)
	}
	if err == nil || strings.Contains(err.Error(), "the files were copied") {
		t.Errorf("%s: it was not found: %v", what, err)
	}
}

// flip changes one random bit of a file until the test calls back.
func flip(t *testing.T, rng *rand.Rand, path string) (back func()) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at, bit := rng.IntN(len(text)), byte(1)<<rng.IntN(8)
	write := func() {
		text[at] ^= bit
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	return write
}

// TestRestoreFindsFlippedBits: of 100 random bits that change in files of every kind of a backup, a
// restore finds all, and so does a restore of an archive.
func TestRestoreFindsFlippedBits(t *testing.T) {
	t.Parallel()
	dir := backupWithAll(t, serve(t, Options{}, conf("(def journal-keep 0)")).ready())
	kinds, rng := kindsOf(t, dir), rand.New(rand.NewPCG(46, 3))
	for i := range 100 {
		kind := []string{"backup.json", "games.db", "journal", "kept"}[i%4]
		if len(kinds[kind]) == 0 {
			t.Fatalf("the backup has no %s: nothing is proved", kind)
		}
		name := kinds[kind][rng.IntN(len(kinds[kind]))]
		back := flip(t, rng, filepath.Join(dir, name))
		refused(t, "a bit of "+name, dir)
		back()
	}
	file := filepath.Join(t.TempDir(), "backup.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		back := flip(t, rng, file)
		refused(t, "a bit of the archive", file)
		back()
	}
	data := filepath.Join(t.TempDir(), "data")
	restoreTo(t, loadConf(t, conf("")), file, data)
}

// TestRestoreFindsChangedFiles: a restore finds a file that is missing, that has another name, that is
// shorter, or that does not belong to the backup.
func TestRestoreFindsChangedFiles(t *testing.T) {
	t.Parallel()
	whole := backupWithAll(t, serve(t, Options{}, conf("(def journal-keep 0)")).ready())
	for name, damage := range map[string]func(dir, file string) error{
		"missing": func(dir, file string) error { return os.Remove(filepath.Join(dir, file)) },
		"renamed": func(dir, file string) error {
			return os.Rename(filepath.Join(dir, file), filepath.Join(dir, file+"x"))
		},
		"shorter": func(dir, file string) error { return os.Truncate(filepath.Join(dir, file), 1) },
		"extra":   func(dir, file string) error { return os.WriteFile(filepath.Join(dir, file+"x"), nil, 0o600) },
		"a link":  func(dir, file string) error { return os.Symlink("x", filepath.Join(dir, file+"x")) },
		"other json": func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, "backup.json"), []byte("{}"), 0o600)
		},
	} {
		for _, files := range kindsOf(t, whole) {
			dir := filepath.Join(t.TempDir(), "backup")
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), damage(dir, files[0])); err != nil {
				t.Fatal(err)
			}
			refused(t, name+" "+files[0], dir)
		}
	}
}

// TestRestoreWithoutSums: a backup of an older version, which has no sums, is restored, and its manifest
// says that it has none.
func TestRestoreWithoutSums(t *testing.T) {
	t.Parallel()
	text := conf("")
	dir := backupWithAll(t, serve(t, Options{}, text).ready())
	path := filepath.Join(dir, "backup.json")
	var m map[string]any
	old, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(old, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(m, "files")
	delete(m, "sum")
	if old, err = json.Marshal(m); err == nil {
		err = os.WriteFile(path, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	restoreTo(t, loadConf(t, text), dir, filepath.Join(t.TempDir(), "data"))
	if m, err := backup.ReadManifest(dir); err != nil || !strings.Contains(m.Checked(), "has no sums") {
		t.Errorf("of an older backup it says %q, %v", m.Checked(), err)
	}
}

// TestScheduledBackupWithoutPostgres: log and status say that games in PostgreSQL are in no scheduled backup.
func TestScheduledBackupWithoutPostgres(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf(postgresConf(pgtest.Migrated(t))+`(def backup-dir "`+t.TempDir()+`")`)).ready()
	until(t, "there is a backup", func() bool { return strings.Contains(s.log.String(), "a backup was made") })
	until(t, "the log tells what it is without", func() bool {
		return strings.Contains(s.log.String(), "the backup is without the games in PostgreSQL")
	})
	b := s.Status(t.Context()).Backups
	if b == nil || b.Last.IsZero() || !strings.Contains(b.String(), "NOT IN THEM are the games of default") {
		t.Errorf("the status says %+v", b)
	}
}
