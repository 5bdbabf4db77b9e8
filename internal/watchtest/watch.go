// Package watchtest watches a server process or a goroutine beside a test: Until waits for a
// condition, Log keeps the output.
package watchtest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Patience bounds every wait of a test. It is no measure of speed: a machine that builds
// something else meanwhile, or whose disk is slow for a while, takes long.
const Patience = 3 * time.Minute

// Until repeats ok until it returns true, for Patience at most. more is printed with the
// failure, for instance a log.
func Until(t testing.TB, what string, ok func() bool, more ...any) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.NewTimer(Patience)
	defer tick.Stop()
	defer late.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatal(append([]any{"in vain: " + what + "\n"}, more...)...)
		}
	}
}

// Log may be read while it is written.
type Log struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}
