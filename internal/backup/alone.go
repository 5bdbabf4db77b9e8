package backup

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrUnderWay is returned when another backup of the same data directory is running.
var ErrUnderWay = errors.New("another backup of it is under way: wait until that is done")

// alone locks a data directory for one backup, until release is called or the process ends. It
// locks the directory itself, because a lock file might belong to root.
func alone(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrUnderWay
		}
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return func() {
		syscall.Flock(int(d.Fd()), syscall.LOCK_UN) // a child process that is starting may have inherited it
		d.Close()
	}, nil
}
