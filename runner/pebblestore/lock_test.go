package pebblestore

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
)

// readOnly is a file system that is mounted for reading only.
type readOnly struct{ vfs.FS }

func (readOnly) Lock(name string) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

// TestReadOnlyDisk: the error for a directory that cannot be locked because it is read-only
// is not that it is in use.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	s := At(t.TempDir(), Options{})
	s.fs = readOnly{s.fs}
	_, err := s.lock()
	if !errors.Is(err, syscall.EROFS) || errors.Is(err, runner.ErrLocked) {
		t.Errorf("got %v", err)
	}
}
