//go:build unix

package handoff

import (
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// Exec replaces the image of this process by a binary, which gets the
// inheritance. It returns only if that fails: then descriptors are as before, but
// SIGUSR2 and SIGHUP stay ignored until signal.Notify is called for them again.
func (h *Inheritance) Exec(binary string, args []string, base []string) error {
	env, err := h.Environ(base)
	if err != nil {
		return err
	}
	// They would end a process without handlers, which the next image is for a
	// moment; ignored they stay ignored until it has some.
	signal.Ignore(syscall.SIGUSR2, syscall.SIGHUP)
	syscall.ForkLock.Lock() // no child may get what only the next image is to have
	for _, fd := range h.descriptors() {
		closeOnExec(fd, false)
	}
	err = syscall.Exec(binary, args, env)
	for _, fd := range h.descriptors() {
		closeOnExec(fd, true)
	}
	syscall.ForkLock.Unlock()
	return fmt.Errorf("exec %s: %w", binary, err)
}

// Back becomes the binary of which the note has a descriptor, and says why.
func (h *Inheritance) Back(why error, args []string, base []string) error {
	if h.Note.Old == 0 {
		return fmt.Errorf("there is no binary to go back to")
	}
	h = h.Clone()
	h.Note.Failure = why.Error()
	return h.Exec(fmt.Sprintf("/proc/self/fd/%d", h.Note.Old), args, base)
}

// Self opens the binary of this image, which may have been replaced on disk.
func Self() (*os.File, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("open the binary that runs: %w", err)
	}
	return f, nil
}

// closeOnExec sets or clears the flag, and reports whether there is such a
// descriptor.
func closeOnExec(fd int, on bool) bool {
	flag := uintptr(0)
	if on {
		flag = syscall.FD_CLOEXEC
	}
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, flag)
	return errno == 0
}

// openPrivate opens a file that is not a symbolic link.
func openPrivate(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
}

// ours reports whether the file belongs to the user of this process.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// Detach closes a file and returns its descriptor under a number that nobody
// owns, for an Inheritance. No child gets it.
func Detach(f *os.File) (int, error) {
	defer f.Close()
	raw, err := f.SyscallConn() // Fd would turn a socket blocking
	if err != nil {
		return 0, fmt.Errorf("detach a descriptor: %w", err)
	}
	fd := 0
	var inner error
	err = raw.Control(func(s uintptr) { fd, inner = duplicate(int(s)) })
	if err == nil {
		err = inner
	}
	if err != nil {
		return 0, fmt.Errorf("detach a descriptor: %w", err)
	}
	return fd, nil
}

// Duplicate returns a file for a descriptor of the inheritance, which stays in
// it; nil if there is none.
func Duplicate(of map[string]int, name string) (*os.File, error) {
	s, ok := of[name]
	if !ok {
		return nil, nil
	}
	fd, err := duplicate(s)
	if err != nil {
		return nil, fmt.Errorf("duplicate descriptor %d of %s: %w", s, name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func duplicate(s int) (int, error) {
	syscall.ForkLock.RLock() // no child may get it between the two calls
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(s)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}
