package handoff

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve allocates room for the file if the filesystem supports that.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}
