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

// dumps writes panics down in the data directory.
type dumps struct {
	dir string

	mu     sync.Mutex
	caught map[string]time.Time // when a panic that ended no profile was last written, by name
}

const (
	// mostDumps is how many of one name are kept.
	mostDumps = 8
	// caughtEvery is how often a panic that ended no profile is written. Somebody
	// may be able to repeat it at will.
	caughtEvery = time.Minute
)

// write writes down what is known of a panic, and returns the file's name; "" if
// there is nothing to write. Tokens are not in it.
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
	// The time has no hyphen: the profile a must not meet the dumps of a-b.
	old, _ := filepath.Glob(prefix + "*.txt")
	old = slices.DeleteFunc(old, func(file string) bool { return strings.Contains(strings.TrimPrefix(file, prefix), "-") })
	slices.Sort(old)
	for len(old) > mostDumps {
		os.Remove(old[0])
		old = old[1:]
	}
	return file
}

// survived reports a panic that ended no profile.
func (d *dumps) survived(log *slog.Logger, name string, err error) {
	d.mu.Lock()
	now := time.Now()
	due := now.Sub(d.caught[name]) >= caughtEvery
	if due {
		if d.caught == nil {
			d.caught = map[string]time.Time{}
		}
		d.caught[name] = now
	}
	d.mu.Unlock()
	file := ""
	if due {
		file = d.write(log, "panic", name, err)
	}
	log.Error("a panic was caught; the server goes on", "err", err, "dump", file)
}

// caught reports a panic beside the profiles.
func (s *Server) caught(err error) { s.dumps.survived(s.log, "server", err) }

// caught reports a panic that the profile has survived.
func (k *supervisor) caught(err error) {
	k.CountPanic()
	k.dumps.survived(k.log, k.name, err)
}

// help runs f on a goroutine that the end of the server waits for.
func (s *Server) help(where string, f func()) {
	s.helpers.Go(func() { guard.Run(where, f, s.caught) })
}
