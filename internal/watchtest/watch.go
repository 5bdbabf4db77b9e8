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
// failure, for instance a log. The pauses grow, because many tests wait at once, and a look
// may cost a process as much as what it waits for.
func Until(t testing.TB, what string, ok func() bool, more ...any) {
	t.Helper()
	const first, longest = 5 * time.Millisecond, 100 * time.Millisecond
	late := time.Now().Add(Patience)
	for pause := first; !ok(); pause = min(pause*5/4, longest) {
		if !time.Now().Before(late) {
			t.Fatal(append([]any{"in vain: " + what + "\n"}, more...)...)
		}
		time.Sleep(pause)
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
