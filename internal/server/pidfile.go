package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"wamble/internal/config"
)

// StateDir returns the directory of the pid file and of a handoff's files: state-dir, or the
// data directory.
func StateDir(c *config.Config, dataDir string) string {
	if c.Server.StateDir != "" {
		return c.Server.StateDir
	}
	return dataDir
}

// PidFile returns the name of the pid file in a state directory.
func PidFile(stateDir string) string { return filepath.Join(stateDir, "wamble.pid") }

// openPidFile writes the number of this process into the pid file and locks it. Whether a
// server runs is shown by the lock, not by the number, which may be reused.
func (s *Server) openPidFile() error {
	if s.pidFile {
		return nil
	}
	err := s.lockPidFile()
	s.pidFile = err == nil
	if err != nil && s.o.Handoff.Inheritance != nil {
		// Players wait after a handoff: the server goes on.
		s.log.Warn("the server goes on without a pid file", "err", err)
		return nil
	}
	return err
}

// lockPidFile locks and writes the pid file. It refuses a directory in which everybody may
// delete files.
func (s *Server) lockPidFile() error {
	name := PidFile(StateDir(s.o.Config, s.dir))
	if info, err := os.Stat(filepath.Dir(name)); err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("the pid file: everybody may write to %s; choose another state-dir", filepath.Dir(name))
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("the pid file: %w", err)
	}
	lock := func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	err = lock()
	for end := time.Now().Add(lockAnswer); errors.Is(err, syscall.EWOULDBLOCK) && !s.Inherited() && time.Now().Before(end); err = lock() {
		time.Sleep(lockPause) // the kernel may still be releasing the locks of a killed process
	}
	if err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("the pid file: a server with process number %s uses %s", readPid(f), name)
		}
		return fmt.Errorf("the pid file: %w", err)
	}
	if err := writePid(f); err != nil {
		f.Close()
		return fmt.Errorf("the pid file: %w", err)
	}
	s.closers = append(s.closers, func() error { return errors.Join(os.Remove(name), f.Close()) })
	return nil
}

// writePid writes the number of this process, unless the file has it, as after a handoff: a
// write could delay the handoff.
func writePid(f *os.File) error {
	if readPid(f) == strconv.Itoa(os.Getpid()) {
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPid(f *os.File) string {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0) // another process may be writing it
	if pid := strings.TrimSpace(string(text[:n])); pid != "" {
		return pid
	}
	return "unknown"
}
