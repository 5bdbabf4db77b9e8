package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// Target is the data directory into which a backup is restored.
type Target struct {
	Dir string
	// Stores opens the stores of the configuration. It is called when their files were
	// copied.
	Stores func() ([]Store, error)
	// Overwrite allows existing files to be replaced.
	Overwrite bool
	// AsCaller runs a function with the rights of who restores, if this process works with those of the
	// owner of the data; it may be nil. The files of the backup are opened so.
	AsCaller func(func() error) error
}

// source is a backup that is read with the rights of who restores it.
type source struct {
	fs.FS
	asCaller func(func() error) error
}

func (s source) Open(name string) (f fs.File, err error) {
	err = as(s.asCaller, func() (err error) { f, err = s.FS.Open(name); return err })
	return f, err
}

func (s source) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = as(s.asCaller, func() (err error) { list, err = fs.ReadDir(s.FS, name); return err })
	return list, err
}

// openSource opens a backup. Symbolic links in it must not lead out of it.
func openSource(dir string, asCaller func(func() error) error) (source, io.Closer, error) {
	var root *os.Root
	err := as(asCaller, func() (err error) { root, err = os.OpenRoot(dir); return err })
	if errors.Is(err, fs.ErrNotExist) {
		err = noManifest(dir)
	}
	if err != nil {
		return source{}, nil, err
	}
	return source{root.FS(), asCaller}, root, nil
}

// unfinishedName is the file that marks an unfinished restore. A server refuses to start with it.
const unfinishedName = "restore-unfinished"

// Unfinished reports whether a restore into a data directory was interrupted.
func Unfinished(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, unfinishedName))
	return err == nil
}

// Restore makes a data directory of a backup. It drains the journal to the stores, and then
// gives the journal a new id, so that the numbers of new messages are not taken for those of
// messages after the backup. An interrupted restore can be repeated. Errors: ErrNoBackup,
// ErrChanged; then the data directory is as it was.
func Restore(ctx context.Context, from string, t Target, progress func(Progress)) (Manifest, error) {
	return t.restoreDir(ctx, from, from, progress)
}

// restoreDir restores the backup in a directory, which the host knows by a name.
func (t *Target) restoreDir(ctx context.Context, dir, from string, progress func(Progress)) (Manifest, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	files, root, err := openSource(dir, t.AsCaller)
	if err != nil {
		return Manifest{}, err
	}
	defer root.Close()
	m, err := readManifest(files, from)
	if err == nil && m.Ended.IsZero() {
		err = fmt.Errorf("%s: %w: it was interrupted; 'wamble backup %s' goes on", from, ErrNoBackup, from)
	}
	if err == nil {
		err = t.admits(m)
	}
	if err != nil {
		return m, err
	}
	progress(Progress{What: "sums"})
	if err := m.checkFiles(ctx, files); err != nil {
		return m, fmt.Errorf("%s: %w", from, err)
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return m, err
	}
	mark := filepath.Join(t.Dir, unfinishedName)
	if err := os.WriteFile(mark, []byte(from+"\n"), 0o600); err != nil {
		return m, err
	}
	if err := t.restore(ctx, files, m, progress); err != nil {
		return m, err
	}
	if err := os.Remove(mark); err != nil {
		return m, err
	}
	return m, syncDir(t.Dir)
}

// admits refuses to replace existing files without Overwrite, or those of a running server.
func (t *Target) admits(m Manifest) error {
	dir := filepath.Join(t.Dir, journalName)
	r, err := openJournal(dir)
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("a server runs on %s: stop it first", t.Dir)
	}
	if err == nil {
		r.Close()
	}
	if t.Overwrite || Unfinished(t.Dir) {
		return nil
	}
	for _, name := range append(slices.Clone(m.Stores), journalName) {
		if _, err := os.Stat(filepath.Join(t.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has %s already; --overwrite replaces it", t.Dir, name)
		}
	}
	return nil
}

// restore copies the files of a backup, and drains the journal to the stores.
func (t *Target) restore(ctx context.Context, from fs.FS, m Manifest, progress func(Progress)) error {
	// Remove the restart files and what an interrupted restore has left, and copy all files.
	staged, kept := filepath.Join(t.Dir, "restore-journal"), filepath.Join(t.Dir, retainedName)
	for _, dir := range []string{staged, kept, filepath.Join(t.Dir, "restart")} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, name := range m.Stores {
		to := filepath.Join(t.Dir, filepath.Base(name))
		for _, old := range []string{to, to + "-wal", to + "-shm"} {
			if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		progress(Progress{What: name})
		if _, err := copyFile(from, filepath.Base(name), to); err != nil {
			return err
		}
	}
	report := func(what string) func(done, all int64) {
		return func(done, all int64) { progress(Progress{what, done, all}) }
	}
	if err := copyTree(ctx, from, journalName, staged, report(journalName)); err != nil {
		return err
	}
	if _, err := fs.Stat(from, retainedName); err == nil {
		if err := copyTree(ctx, from, retainedName, kept, report(retainedName)); err != nil {
			return err
		}
	}
	// Drain the journal to the stores.
	stores, err := t.Stores()
	if err != nil {
		return err
	}
	defer func() {
		for i := range stores {
			stores[i].Close()
		}
	}()
	o := runner.Options{Schema: journal.Schema, Migrate: journal.Migrate, MinFree: -1}
	r, err := runner.Open(pebblestore.At(staged, pebblestore.Options{}), o)
	if err != nil {
		return err
	}
	for i := range stores {
		if err := stores[i].checkCursor(ctx, r, m, kept); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	for i := range stores {
		if err := drainTo(ctx, r, &stores[i], m, kept, progress); err != nil {
			return errors.Join(fmt.Errorf("drain the journal to %s: %w", stores[i].Name, err), r.Close())
		}
	}
	if err := r.Close(); err != nil {
		return err
	}
	// Restore the journal with a new id.
	o.EndLeases = true // the server that held them has ended, or uses another journal
	if err := runner.Restore(pebblestore.At(filepath.Join(t.Dir, journalName), pebblestore.Options{}), staged,
		o); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(staged), os.RemoveAll(kept))
}

// ErrEarlier is returned when a store was restored to a time before the backup.
var ErrEarlier = errors.New("it is of a time before this backup began")

// checkCursor checks that a store has the messages up to its cursor in the manifest, or that the
// backup has those it lacks. Errors: ErrEarlier.
func (s *Store) checkCursor(ctx context.Context, r *runner.Runner, m Manifest, kept string) error {
	id := store.JournalID(r.JournalID())
	for _, held := range m.Profiles {
		if !slices.Contains(s.Profiles, held.Name) {
			continue
		}
		at, err := s.Cursor(ctx, id, held.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		worker, ok := journal.NumberOf(r, held.Name)
		if at >= held.Cursor || !ok {
			continue
		}
		err = journal.Tail(r, kept, worker, max(at, base(r, held.Name, id)), func(uint64, []byte) error { return nil })
		if errors.Is(err, journal.ErrGap) {
			err = fmt.Errorf("%w: of profile %s it has messages up to %d, and the backup those after %d. "+
				"Restore the database to a moment after %s, or take an older backup, and give the command again",
				ErrEarlier, held.Name, at, held.Cursor, m.Began.Format(time.RFC3339Nano))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// drainTo applies the messages after the cursors of a store. A store that is ahead of the
// journal is of a later time, and is left as it is.
func drainTo(ctx context.Context, r *runner.Runner, s *Store, m Manifest, kept string, progress func(Progress)) error {
	for _, name := range s.Profiles {
		if !slices.ContainsFunc(m.Profiles, func(h Held) bool { return h.Name == name }) {
			continue // the profile is newer than the backup
		}
		d, err := journal.NewDrain(ctx, r, s.Store, journal.DrainOptions{Profile: name, Limits: limits,
			Retain: journal.RetainOptions{Dir: kept, Age: keepAll, Bytes: 1 << 40}})
		if err != nil {
			return err
		}
		if w, _, err := journal.DatabaseOf(ctx, r, name); err == nil {
			d.SetBase(w.Base)
		}
		all := int64(d.Pending())
		err = d.Fits(ctx)
		if err == nil {
			err = d.DrainAll(ctx, func(left int) { progress(Progress{"games of " + name, all - int64(left), all}) })
		}
		if errors.Is(err, journal.ErrAhead) {
			err = nil
		}
		if err = errors.Join(err, d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// limits bounds a transaction of a restore. KeepAll is the age at which kept messages are
// deleted; it is longer than any restore takes.
var limits = journal.Limits{Intents: 512, Bytes: 64 << 10}

const keepAll = 365 * 24 * time.Hour
