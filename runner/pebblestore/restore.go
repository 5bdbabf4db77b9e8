package pebblestore

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// Restore implements runner.Storage. The checkpoint is a directory; it is copied to a directory
// beside the old content, prepared there, and replaces the old content by two renames.
// finishRestore undoes or completes a restore that a crash interrupted between the renames.
func (s *Storage) Restore(checkpoint string, prepare func(runner.Backend) error) error {
	if err := s.fs.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.finishRestore(); err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	fresh, old := s.dir+".restoring", s.replaced()
	if err := s.copyCheckpoint(checkpoint, fresh, prepare); err != nil {
		return errors.Join(err, s.fs.RemoveAll(fresh), lock.Close())
	}
	// The lock is in the old directory and moves with it.
	err = s.fs.Rename(s.dir, old)
	if err == nil {
		if err = s.fs.Rename(fresh, s.dir); err != nil {
			err = errors.Join(err, s.fs.Rename(old, s.dir))
		}
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	return errors.Join(syncDir(s.fs, s.fs.PathDir(s.dir)), s.fs.RemoveAll(old))
}

// copyCheckpoint copies a checkpoint to the directory fresh and prepares the copy.
func (s *Storage) copyCheckpoint(checkpoint, fresh string, prepare func(runner.Backend) error) error {
	if err := checkDir(s.fs, checkpoint); err != nil {
		return err
	}
	if err := s.fs.RemoveAll(fresh); err != nil {
		return err
	}
	if err := copyDir(s.fs, checkpoint, fresh); err != nil {
		return fmt.Errorf("copy checkpoint: %w", err)
	}
	b, err := at(s.fs, fresh, Options{}).Open(func(error) {})
	if err == nil {
		err = errors.Join(prepare(b), b.Close())
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", checkpoint, err)
	}
	return nil
}

// replaced returns the directory of the old content between the two renames of Restore.
func (s *Storage) replaced() string { return s.dir + ".replaced" }

// finishRestore completes a restore that a crash interrupted, or restores the old content if
// the crash was between the two renames. Then s.dir has at most the lock of an Open since.
func (s *Storage) finishRestore() error {
	old := s.replaced()
	switch {
	case !holdsPebble(s.fs, old):
		return nil
	case holdsPebble(s.fs, s.dir):
		return s.fs.RemoveAll(old)
	}
	err := s.fs.Remove(s.fs.PathJoin(s.dir, lockFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return errors.Join(s.fs.Remove(s.dir), s.fs.Rename(old, s.dir), syncDir(s.fs, s.fs.PathDir(s.dir)))
}

// checkDir returns an error if dir has no Pebble.
func checkDir(fs vfs.FS, dir string) error {
	if _, err := fs.List(dir); err != nil {
		return fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	if !holdsPebble(fs, dir) {
		return fmt.Errorf("checkpoint %s: %w", dir, os.ErrNotExist)
	}
	return nil
}

func holdsPebble(fs vfs.FS, dir string) bool {
	names, err := fs.List(dir)
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "MANIFEST-") })
}

const lockFile = "LOCK"

// copyDir durably copies a directory of Pebble that is not being written.
func copyDir(fs vfs.FS, from, to string) error {
	if err := fs.MkdirAll(to, 0o700); err != nil {
		return err
	}
	isLock := func(path string) bool { return fs.PathBase(path) == lockFile }
	_, err := vfs.Clone(fs, fs, from, to, vfs.CloneSync, vfs.CloneSkip(isLock))
	return err
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
