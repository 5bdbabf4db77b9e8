package runner

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Restore implements Storage. The new content is copied beside the old one
// and takes its place by two renames; finishRestore undoes or completes what
// a crash between them left.
func (s *pebbleStorage) Restore(checkpoint string) error {
	if err := checkDir(s.fs, checkpoint); err != nil {
		return err
	}
	fresh, old := s.dir+".restoring", s.dir+".replaced"
	if err := errors.Join(s.fs.RemoveAll(fresh), s.fs.RemoveAll(old)); err != nil {
		return err
	}
	if _, err := vfs.Clone(s.fs, s.fs, checkpoint, fresh, vfs.CloneSync); err != nil {
		return fmt.Errorf("copy checkpoint: %w", err)
	}
	if err := disown(&pebbleStorage{dir: fresh, fs: s.fs}); err != nil {
		return fmt.Errorf("checkpoint %s: %w", checkpoint, err)
	}
	if err := s.fs.Rename(s.dir, old); err != nil {
		return err
	}
	if err := s.fs.Rename(fresh, s.dir); err != nil {
		return errors.Join(err, s.fs.Rename(old, s.dir))
	}
	return errors.Join(syncDir(s.fs, s.fs.PathDir(s.dir)), s.fs.RemoveAll(old))
}

// disown takes the journal id out of a copy, so that whoever opens it first
// gives it a new one, though a crash may come before.
func disown(s Storage) error {
	b, err := s.Open(func(error) {})
	if err != nil {
		return err
	}
	batch := b.Batch()
	batch.Delete(tableKey(nil, appState, []byte(journalKey)))
	return errors.Join(batch.Commit(), b.Close())
}

// finishRestore puts the old content back when a crash came between the two
// renames of Restore. Open has just made s.dir, so it is empty then.
func (s *pebbleStorage) finishRestore() error {
	old := s.dir + ".replaced"
	if _, err := s.fs.Stat(old); err != nil {
		return nil
	}
	names, err := s.fs.List(s.dir)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return s.fs.RemoveAll(old)
	}
	return errors.Join(s.fs.Remove(s.dir), s.fs.Rename(old, s.dir))
}

func checkDir(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, "MANIFEST-") {
			return nil
		}
	}
	return fmt.Errorf("checkpoint %s: %w", dir, os.ErrNotExist)
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
