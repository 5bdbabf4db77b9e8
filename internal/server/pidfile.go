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

// StateDir is where the pid file and the files of a handoff are: state-dir, or
// the data directory.
func StateDir(c *config.Config, dataDir string) string {
	if c.Server.StateDir != "" {
		return c.Server.StateDir
	}
	return dataDir
}

// PidFile is the name of the pid file in a state directory.
func PidFile(stateDir string) string { return filepath.Join(stateDir, "wamble.pid") }

// openPidFile writes the number of this process where others find it. The lock on
// the file, not its text, says whether its process lives: it goes with the
// process, and a number may be another's by now.
func (s *Server) openPidFile() error {
	if s.pidFile {
		return nil
	}
	err := s.lockPidFile()
	s.pidFile = err == nil
	if err != nil && s.o.Succession.Inheritance != nil {
		// Players are being served: that is worth more than the file.
		s.log.Warn("the server goes on without a pid file", "err", err)
		return nil
	}
	return err
}

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
		time.Sleep(lockPause) // a process that was killed gives back one lock after the other
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

// writePid leaves a file alone that the image before this one wrote: to change
// one may take the disk its time.
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
	n, _ := f.ReadAt(text, 0) // whoever holds the lock may be writing it
	if pid := strings.TrimSpace(string(text[:n])); pid != "" {
		return pid
	}
	return "unknown"
}
