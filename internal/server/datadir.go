package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
)

// DataDir returns the name of the data directory: the one named on the command line, else
// that of the configuration, else wamble in the user's state directory.
func DataDir(flag, configured string, getenv func(string) string) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case configured != "":
		return configured, nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "wamble"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "wamble"), nil
	}
	return "", errors.New("no place for the data: set data-dir in the configuration, use --data DIR, or set HOME")
}

// MakeDataDir creates the data directory, readable by its owner alone, and syncs its parent
// so that the directory survives a crash.
func MakeDataDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	above, err := os.Open(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	defer above.Close()
	if err := above.Sync(); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// The waiting of a start for a locked journal or pid file. The kernel releases the locks of
// a killed process only after its memory: a second for some gigabytes.
const (
	lockTime   = 10 * time.Second       // longest wait for the journal
	lockAnswer = 500 * time.Millisecond // for the answer of a running server, and for the pid file
	lockPause  = 20 * time.Millisecond  // between two attempts
)

// awaitLock tries to open the journal for lockTime while another process has it locked. If
// that process answers at the control socket, it returns runner.ErrLocked at once.
func (s *Server) awaitLock(open func() (*runner.Runner, error)) (*runner.Runner, error) {
	most := cmp.Or(s.o.LockTime, lockTime)
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.o.LockAnswer, lockAnswer))
	defer cancel()
	if err := admin.Ask(ctx, s.dir, "status", nil, new(admin.Status)); err == nil {
		return nil, runner.ErrLocked
	}
	s.log.Warn("another process uses the journal, and does not answer; waiting whether it ends", "journal",
		JournalDir(s.dir), "at most", most)
	for end := time.Now().Add(most); ; time.Sleep(lockPause) {
		r, err := open()
		if !errors.Is(err, runner.ErrLocked) || time.Now().After(end) {
			return r, err
		}
	}
}

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
	if info, err := os.Stat(filepath.Dir(name)); err == nil && info.Mode().Perm()&0o002 != 0 &&
		info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("the pid file: everybody may write to %s; choose another state-dir", filepath.Dir(name))
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("the pid file: %w", err)
	}
	lock := func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	err = lock()
	for end := time.Now().Add(lockAnswer); errors.Is(err, syscall.EWOULDBLOCK) && !s.Inherited() &&
		time.Now().Before(end); err = lock() {
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

// markerFile returns the name of the file in a data directory that says which journal in
// PostgreSQL its server used last (see mark).
func markerFile(dir string) string { return filepath.Join(dir, "journal-in-postgres") }

// journalMarker is the content of that file, one line per field.
type journalMarker struct {
	location  string
	partition int    // the partition that was claimed last
	id        string // identifier of its journal, which does not depend on the address; "" if not known
	emptied   bool   // the games' database has everything, or another node has the journal
}

const markerEmptied = "emptied"

func readMarker(dir string) (journalMarker, error) {
	b, err := os.ReadFile(markerFile(dir))
	lines := append(strings.Split(string(b), "\n"), "", "", "")
	part, _ := strconv.Atoi(lines[1])
	return journalMarker{location: lines[0], partition: part, id: lines[2], emptied: lines[3] == markerEmptied}, err
}

func (m journalMarker) write(dir string) error {
	text := fmt.Sprintf("%s\n%d\n%s\n", m.location, m.partition, m.id)
	if m.emptied {
		text += markerEmptied + "\n"
	}
	next := markerFile(dir) + ".new"
	return errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, markerFile(dir)))
}

// isOf reports whether the journal of a configuration is the marked one, at another address
// or restored from a backup.
func (m journalMarker) isOf(c *config.Config) (bool, error) {
	if m.id == "" {
		return false, nil
	}
	log, err := openLogs(c)
	if err != nil {
		return false, err
	}
	defer log.Close()
	r, err := openReadOnly(logstore.New(log, pglog.PartName(c.Server.JournalName, m.partition),
		logstore.Options{MaxBytes: c.Server.JournalMemory << 20}))
	if errors.Is(err, runner.ErrNoSchema) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return r.JournalID().String() == m.id, r.Close()
}

// writeMarker writes the mark for a partition that was claimed.
func (p *partition) writeMarker(r *runner.Runner) error {
	p.s.sharedJournal.markerMu.Lock()
	defer p.s.sharedJournal.markerMu.Unlock()
	return journalMarker{location: sharedJournalLocation(p.s.o.Config), partition: p.index,
		id: r.JournalID().String()}.write(p.s.dir)
}

// writeEmptiedMarker writes into the mark that this node has left nothing in the journal, so that
// another journal may be used.
func (s *Server) writeEmptiedMarker() {
	m, err := readMarker(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return // no journal in PostgreSQL was used
	}
	m.emptied = true
	if err == nil {
		err = m.write(s.dir)
	}
	s.warn(err)
}

// emptied reports, after the profiles have ended, whether the games' database has everything
// of the partitions on this node, and other nodes hold the other partitions.
func (s *Server) emptied() bool {
	if s.sharedJournal.log == nil {
		return false
	}
	n := s.partitionCount()
	seen, _ := s.sharedJournal.log.ClusterView(s.sharedJournal.name, n)
	for k := range n {
		if p := s.partitionOf(k); p != nil {
			if p.runner.State() != runner.Running || undrained(p.runner) > 0 {
				return false
			}
		} else if seen.Err != nil || k >= len(seen.Parts) || !heldByOther(seen.Parts[k], nodeName(s.o.Config)) {
			return false
		}
	}
	return true
}

// heldByOther reports whether a node other than self holds a partition. An earlier process of self that
// ended without a release may have left messages in it.
func heldByOther(p pglog.PartitionView, self string) bool {
	return !p.Free && !p.Self && p.Holder != "" && p.Holder != self
}
