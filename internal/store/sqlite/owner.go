package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"wamble/internal/store"
)

// Own implements store.Store. The file belongs to one process, for all profiles. The lock on a
// file beside it ends with the process, so there is no takeover.
func (s *Store) Own(ctx context.Context, profile string, o store.Owner, over int64) error {
	s.owning.Lock()
	defer s.owning.Unlock()
	if s.owner != nil {
		return nil
	}
	if wal, err := os.Stat(s.path + "-wal"); err == nil && wal.Size() > 0 {
		s.crashed.Store(true) // a process that ends in order removes it
	}
	f, err := lockOwner(s.path+"-owner", o)
	if err != nil {
		return classify(ctx, "own "+s.path, err)
	}
	s.owner = f
	return nil
}

// lockOwner locks a file and writes the owner into it. Errors: *store.Owned.
func lockOwner(name string, o store.Owner) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		return nil, &store.Owned{By: readOwner(f)}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d %d %x %s\n", o.PID, o.Since.UnixMicro(), o.Journal, o.Host)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Owners returns the current owner of the file, which is known to be alive, if there is one.
func (s *Store) Owners(ctx context.Context) ([]store.Owned, error) {
	f, err := os.Open(s.path + "-owner")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, classify(ctx, "read who owns "+s.path, err)
	}
	defer f.Close()
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return []store.Owned{{By: readOwner(f)}}, nil
	default:
		return nil, classify(ctx, "read who owns "+s.path, err)
	}
}

// readOwner reads what lockOwner has written, perhaps only in part so far.
func readOwner(f *os.File) store.Owner {
	o := store.Owner{Host: "unknown"}
	var micros int64
	var journal []byte
	if n, _ := fmt.Fscanf(f, "%d %d %x %s\n", &o.PID, &micros, &journal, &o.Host); n > 1 {
		o.Since = time.UnixMicro(micros).UTC()
	}
	copy(o.Journal[:], journal)
	return o
}

// Beat implements store.Store. It does nothing: the lock shows that the owner is alive.
func (s *Store) Beat(context.Context, string, store.Owner) error { return nil }

// Disown implements store.Store. It does nothing: Close releases the file.
func (s *Store) Disown(context.Context, string, store.Owner) error { return nil }
