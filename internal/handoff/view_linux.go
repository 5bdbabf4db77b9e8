package handoff

import (
	"os"

	"golang.org/x/sys/unix"
)

// view maps a file into memory, all of it at once: it was just written, so that
// the kernel has it, and a copy would cost a fault for each of its pages.
func view(f *os.File, size int64) (b []byte, done func(), err error) {
	b, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { unix.Munmap(b) }, nil
}
