package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// Store is a store of a data directory, with the profiles that keep their games in it.
type Store struct {
	store.Store
	Name     string // for people
	File     string // of SQLite; "" for PostgreSQL
	Profiles []string
}

// Source is a data directory to copy.
type Source struct {
	Dir    string // the data directory
	Stores []Store
	// Journal returns the journal's id.
	Journal func(ctx context.Context) (store.JournalID, error)
	// Hold makes the server keep messages that leave the journal within d; nil if no server
	// runs.
	Hold func(ctx context.Context, d time.Duration) error
	// Checkpoint makes a consistent copy of the journal in a directory that does not exist
	// yet.
	Checkpoint func(ctx context.Context, to string) error
	// Dump copies the databases in PostgreSQL; nil if the host copies them by other means.
	Dump func(ctx context.Context) error
	// AsCaller runs a function with the rights of who has asked for the backup, if this process works with
	// those of the owner of the data; it may be nil.
	AsCaller func(func() error) error
}

// as runs f by way of caller, unless that is nil.
func as(caller func(func() error) error, f func() error) error {
	if caller == nil {
		return f()
	}
	return caller(f)
}

// Progress is the progress of one part of the work.
type Progress struct {
	What      string
	Done, All int64
}

// holdTime is how long a server keeps messages after the last renewal by a backup.
const holdTime = time.Minute

// Run makes a backup in a directory that is empty or does not exist yet, or continues an
// interrupted one there. Stores that are complete are not copied again, if the messages after
// them are still kept. Errors: ErrUnderWay.
func Run(ctx context.Context, s Source, dir string, progress func(Progress)) (Manifest, error) {
	release, err := alone(s.Dir)
	if err != nil {
		return Manifest{}, err
	}
	defer release()
	return s.runAlone(ctx, dir, progress)
}

// runAlone is Run while the data directory is locked. If an interrupted backup cannot be
// continued, because messages were deleted, it starts a new one.
func (s *Source) runAlone(ctx context.Context, dir string, progress func(Progress)) (Manifest, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	m, err := begin(dir)
	if err != nil {
		return m, err
	}
	again := len(m.Stores) > 0
	err = s.run(ctx, dir, &m, progress)
	if again && errors.Is(err, journal.ErrGap) {
		m = Manifest{Format: format}
		err = s.run(ctx, dir, &m, progress)
	}
	if errors.Is(err, journal.ErrGap) {
		err = fmt.Errorf("%w\nThe backup took so long that messages which it needs were deleted: raise restart-keep-mb, or back up when less is played", err)
	}
	return m, err
}

// begin returns the manifest of an interrupted backup in dir, or a new one.
func begin(dir string) (Manifest, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Manifest{}, err
	}
	m, err := ReadManifest(dir)
	switch {
	case err == nil && !m.Ended.IsZero():
		return m, fmt.Errorf("%s is a backup of %s already; choose another name", dir, m.Ended.Format(time.RFC3339))
	case err == nil:
		return m, nil
	case !errors.Is(err, ErrNoBackup):
		return m, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != manifestName+unwritten {
			err = fmt.Errorf("%s is neither empty nor a backup that was interrupted", dir)
		}
	}
	return Manifest{Format: format}, err
}

// run copies all that the manifest lacks.
func (s *Source) run(ctx context.Context, dir string, m *Manifest, progress func(Progress)) error {
	ctx, release, err := s.pinJournal(ctx)
	if err != nil {
		return err
	}
	defer release()
	id, err := s.Journal(ctx)
	if err != nil {
		return err
	}
	m.Profiles = nil
	// A backup of PostgreSQL made after Began has at least the current cursors.
	for i := range s.Stores {
		if from := &s.Stores[i]; from.File == "" {
			if err := from.note(ctx, from.Store, id, m); err != nil {
				return err
			}
		}
	}
	// The manifest is written first, so that an interrupted backup can be continued.
	m.Began = time.Now().UTC()
	if err := m.write(dir); err != nil {
		return err
	}
	for i := range s.Stores {
		if from := &s.Stores[i]; from.File != "" {
			if err := from.copy(ctx, id, dir, m, progress); err != nil {
				return err
			}
		}
	}
	if s.Dump != nil {
		progress(Progress{What: "PostgreSQL"})
		if err := s.Dump(ctx); err != nil {
			return fmt.Errorf("the dump of PostgreSQL: %w", err)
		}
	}
	if err := s.copyJournal(ctx, dir, m, progress); err != nil {
		return err
	}
	if err := s.finish(ctx, dir, id, m, progress); err != nil {
		return err
	}
	progress(Progress{What: "sums"})
	// The host's dump may be in the directory, too, and only the host may read it.
	files, root, err := openSource(dir, s.AsCaller)
	if err != nil {
		return err
	}
	defer root.Close()
	if m.Files, err = sumFiles(ctx, files); err != nil {
		return err
	}
	return m.write(dir)
}

// pinJournal makes the server keep messages until release is called or ctx ends. The returned
// context ends if renewing that panics.
func (s *Source) pinJournal(ctx context.Context) (_ context.Context, release func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	release = func() { cancel(nil) }
	if s.Hold == nil {
		return ctx, release, nil
	}
	if err := s.Hold(ctx, holdTime); err != nil {
		release()
		return nil, nil, err
	}
	go func() {
		err := guard.Call("the hold of a backup", func() error {
			tick := time.NewTicker(holdTime / 4)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-tick.C:
				}
				// An error is ignored: finish detects missing messages.
				_ = s.Hold(ctx, holdTime)
			}
		})
		cancel(err)
	}()
	return ctx, release, nil
}

// copy copies the SQLite file of a store, unless that is done, and adds its cursors to the
// manifest.
func (s *Store) copy(ctx context.Context, id store.JournalID, dir string, m *Manifest, progress func(Progress)) error {
	name := filepath.Base(s.File)
	to := filepath.Join(dir, name)
	if !slices.Contains(m.Stores, name) {
		os.Remove(to)
		os.Remove(to + ".partial")
		err := sqlite.Copy(ctx, s.File, to+".partial",
			func(done, all int) { progress(Progress{name, int64(done), int64(all)}) })
		if err == nil {
			err = os.Rename(to+".partial", to)
		}
		if err != nil {
			return err
		}
		m.Stores = append(m.Stores, name)
		if err := m.write(dir); err != nil {
			return err
		}
	}
	copied, err := sqlite.Open(sqlite.Options{Path: to})
	if err != nil {
		return err
	}
	defer copied.Close()
	return s.note(ctx, copied, id, m)
}

// note adds the cursors of a store to the manifest: the last message of each profile.
func (s *Store) note(ctx context.Context, at store.Store, id store.JournalID, m *Manifest) error {
	held := Held{}
	if s.File != "" {
		held.Store = filepath.Base(s.File)
	}
	for _, profile := range s.Profiles {
		cursor, err := at.Cursor(ctx, id, profile)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		held.Name, held.Cursor = profile, cursor
		m.Profiles = append(m.Profiles, held)
	}
	return nil
}

// copyJournal makes a checkpoint in the data directory, where the server can write, and
// copies it to the backup.
func (s *Source) copyJournal(ctx context.Context, dir string, m *Manifest, progress func(Progress)) error {
	progress(Progress{What: journalName})
	checkpoint, to := filepath.Join(s.Dir, "backup-checkpoint"), filepath.Join(dir, journalName)
	if err := errors.Join(os.RemoveAll(checkpoint), os.RemoveAll(to)); err != nil {
		return err
	}
	defer os.RemoveAll(checkpoint)
	if err := s.Checkpoint(ctx, checkpoint); err != nil {
		return fmt.Errorf("copy the journal: %w", err)
	}
	m.Ended = time.Now().UTC()
	return copyTree(ctx, os.DirFS(checkpoint), ".", to, func(done, all int64) { progress(Progress{journalName, done, all}) })
}

// finish copies the kept messages that the backup needs, and checks that none is missing.
// Errors: journal.ErrGap.
func (s *Source) finish(ctx context.Context, dir string, id store.JournalID, m *Manifest,
	progress func(Progress)) error {
	progress(Progress{What: retainedName})
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := openJournal(filepath.Join(dir, journalName))
	if err != nil {
		return err
	}
	defer r.Close()
	if store.JournalID(r.JournalID()) != id {
		return errors.New("the journal was replaced while it was copied: try again")
	}
	m.Journal = r.JournalID().String()
	kept := filepath.Join(dir, retainedName)
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	for i := range m.Profiles {
		p := &m.Profiles[i]
		worker, ok := journal.NumberOf(r, p.Name)
		if !ok {
			continue // the profile has never written to the journal
		}
		if err := journal.CopyRetained(filepath.Join(s.Dir, retainedName), kept, id, worker, p.Cursor); err != nil {
			return err
		}
		settled, last := journal.Ends(r, worker)
		p.Last = last
		from := max(p.Cursor, base(r, p.Name, id))
		if from >= settled && from >= last {
			continue
		}
		if err := journal.Tail(r, kept, worker, from, func(uint64, []byte) error { return nil }); err != nil {
			return fmt.Errorf("profile %s: %w", p.Name, err)
		}
	}
	return nil
}

// base returns the last message that was not meant for the store of a profile, because it
// preceded the store's first use with this journal; 0 if there is none.
func base(r *runner.Runner, profile string, id store.JournalID) uint64 {
	if w, found := journal.KnownDatabase(r, profile); found && w.Journal == id {
		return w.Base
	}
	return 0
}

// openJournal opens a copied journal of this version or an older one, for reading.
func openJournal(dir string) (*runner.Runner, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	at := pebblestore.At(dir, pebblestore.Options{})
	r, err := runner.OpenReadOnly(at, runner.Options{Schema: journal.Schema, MinFree: -1})
	if errors.Is(err, runner.ErrSchema) {
		if older, olderErr := runner.OpenReadOnly(at,
			runner.Options{Schema: journal.Oldest, MinFree: -1}); olderErr == nil {
			return older, nil
		}
	}
	return r, err
}

// Stopped returns the source of a data directory on which no server runs.
func Stopped(dir string, stores []Store) Source {
	path := filepath.Join(dir, journalName)
	look := func(do func(*runner.Runner) error) error {
		r, err := openJournal(path)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has no journal: %w", dir, err)
		}
		if err != nil {
			return err
		}
		return errors.Join(do(r), r.Close())
	}
	return Source{
		Dir: dir, Stores: stores,
		Journal: func(context.Context) (id store.JournalID, err error) {
			err = look(func(r *runner.Runner) error { id = store.JournalID(r.JournalID()); return nil })
			return id, err
		},
		Checkpoint: func(_ context.Context, to string) error {
			return look(func(r *runner.Runner) error { return r.Checkpoint(to) })
		},
	}
}
