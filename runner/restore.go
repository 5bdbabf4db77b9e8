package runner

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// RestoreDir replaces the content of dir, which need not exist and must not be
// open, by a checkpoint. The new content gets its new journal id before it
// takes the place of the old one, so that a crash leaves one or the other
// whole. It returns ErrLocked while dir is in use, and the errors of Open when
// the checkpoint is not a runner's or has another schema.
func RestoreDir(dir, checkpoint string, o Options) error {
	o.Create = false
	o = o.withDefaults()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return lockError(dir, err)
	}
	fresh, old := dir+".restoring", dir+".replaced"
	err = prepareRestore(fresh, old, checkpoint, o)
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh), lock.Close())
	}
	// The lock lies in the old directory and moves away with it.
	err = os.Rename(dir, old)
	if err == nil {
		if err = os.Rename(fresh, dir); err != nil {
			err = errors.Join(err, os.Rename(old, dir))
		}
	}
	err = errors.Join(err, lock.Close())
	if err != nil {
		return err
	}
	return errors.Join(syncDir(vfs.Default, vfs.Default.PathDir(dir)), os.RemoveAll(old))
}

// prepareRestore copies the checkpoint and gives the copy its own identity.
func prepareRestore(fresh, old, checkpoint string, o Options) error {
	if err := checkDir(vfs.Default, checkpoint); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(old)); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(fresh, 0o700), copyDir(checkpoint, fresh)); err != nil {
		return fmt.Errorf("copy checkpoint: %w", err)
	}
	e, err := openEngine(&o, Pebble(fresh, nil, Fsync), true)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", checkpoint, err)
	}
	return e.close(ErrStopped)
}
