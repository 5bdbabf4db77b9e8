package server

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wamble/internal/guard"
)

// dumps writes panics to files in the data directory.
type dumps struct {
	dir string

	mu          sync.Mutex
	lastWritten map[string]time.Time // by name: when a panic that ended no profile was written last
}

const (
	// maxDumps is how many files of one name are kept.
	maxDumps = 8
	// caughtEvery is the shortest interval between two files of panics that ended no
	// profile, because a client may be able to repeat such a panic at will.
	caughtEvery = time.Minute
)

// write writes a panic to a file without tokens and returns its name; "" if err is no panic
// or the file cannot be written. The oldest files of the name are deleted.
func (d *dumps) write(log *slog.Logger, kind, name string, err error) string {
	var p *guard.Panic
	if !errors.As(err, &p) {
		return ""
	}
	now := time.Now().UTC()
	prefix := filepath.Join(d.dir, kind+"-"+name+"-")
	file := prefix + now.Format("20060102T150405.000") + ".txt"
	text := fmt.Sprintf("profile %s\ntime %s\n%v\n\n%s\n%s", name, now.Format(time.RFC3339Nano), err, p.Detail, p.Stack)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Warn("the dump could not be written", "err", err)
		return ""
	}
	// The time has no hyphen: files of profile a-b are not those of profile a.
	old, _ := filepath.Glob(prefix + "*.txt")
	old = slices.DeleteFunc(old, func(file string) bool { return strings.Contains(strings.TrimPrefix(file, prefix), "-") })
	slices.Sort(old)
	for len(old) > maxDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return file
}

// reportSurvived logs a panic that ended no profile.
func (d *dumps) reportSurvived(log *slog.Logger, name string, err error) {
	d.mu.Lock()
	now := time.Now()
	due := now.Sub(d.lastWritten[name]) >= caughtEvery
	if due {
		if d.lastWritten == nil {
			d.lastWritten = map[string]time.Time{}
		}
		d.lastWritten[name] = now
	}
	d.mu.Unlock()
	file := ""
	if due {
		file = d.write(log, "panic", name, err)
	}
	log.Error("a panic was caught; the server goes on", "err", err, "dump", file)
}

// reportPanic logs a panic outside the profiles.
func (s *Server) reportPanic(err error) { s.dumps.reportSurvived(s.log, "server", err) }

// reportPanic logs a panic that did not end the profile.
func (s *supervisor) reportPanic(err error) {
	s.CountPanic()
	s.dumps.reportSurvived(s.log, s.name, err)
}

// runBackground runs f on a goroutine that Run waits for before it returns.
func (s *Server) runBackground(where string, f func()) {
	s.background.Go(func() { guard.Run(where, f, s.reportPanic) })
}
