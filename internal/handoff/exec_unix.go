//go:build unix

package handoff

import (
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// Exec executes a binary in this process and passes the inheritance to it. It returns only
// if that fails. Then the descriptors are as before, but SIGUSR2 and SIGHUP stay ignored
// until signal.Notify is called for them again.
func (h *Inheritance) Exec(binary string, args []string, base []string) error {
	env, err := h.Environ(base)
	if err != nil {
		return err
	}
	// The next image has no handlers at first, and these signals would end it. Ignored
	// signals stay ignored after exec.
	signal.Ignore(syscall.SIGUSR2, syscall.SIGHUP)
	syscall.ForkLock.Lock() // a child process must not inherit the descriptors
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

// Back executes the old binary, whose descriptor is in the note, and passes why on.
func (h *Inheritance) Back(why error, args []string, base []string) error {
	if h.Note.Old == 0 {
		return fmt.Errorf("there is no binary to go back to")
	}
	h = h.Clone()
	h.Note.Failure = why.Error()
	return h.Exec(fmt.Sprintf("/proc/self/fd/%d", h.Note.Old), args, base)
}

// Self opens the binary of this process, even if its file was replaced.
func Self() (*os.File, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("open the binary that runs: %w", err)
	}
	return f, nil
}

// closeOnExec sets or clears the flag of a descriptor, and reports whether it is open.
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

// Detach duplicates the descriptor of a file for an Inheritance, and closes the file. The
// duplicate closes on exec.
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

// Duplicate returns a file with a duplicate of an inherited descriptor, which stays in the
// inheritance; nil if there is none.
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
	syscall.ForkLock.RLock() // a fork between the two calls would leak it
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(s)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	return fd, err
}
