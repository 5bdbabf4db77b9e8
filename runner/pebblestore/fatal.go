package pebblestore

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// fatalLogger is Pebble's Logger. Pebble calls Fatalf to end the process, and does not expect
// it to return.
type fatalLogger struct {
	once    sync.Once
	onFail  func(error)
	mu      sync.Mutex
	opening bool
	err     error         // first fatal error while opening
	broken  chan struct{} // closed with it, if Pebble would retry forever
}

func newFatalLogger() *fatalLogger {
	return &fatalLogger{opening: true, broken: make(chan struct{})}
}

// background handles the error of a flush or a compaction, which Pebble retries at once.
// Retrying helps against a full disk, but never against another error.
func (l *fatalLogger) background(err error) {
	if isFull(err) {
		return
	}
	err = fmt.Errorf("background work: %w", err)
	l.giveUp(err)
	l.fail(err)
}

func (l *fatalLogger) Infof(string, ...any) {}

func (l *fatalLogger) Errorf(format string, args ...any) {
	slog.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf marks the runner as failed. Only the committer may continue, whose commit then returns
// the failure. All other callers are changing the list of files and must not continue, so their
// goroutine blocks here forever.
func (l *fatalLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.giveUp(err)
	l.fail(err)
	if !strings.HasPrefix(format, "pebble: fatal commit error") {
		select {}
	}
}

// giveUp ends an opening with an error after which Pebble does not return, and blocks. It does
// nothing when Pebble is open.
func (l *fatalLogger) giveUp(err error) {
	l.mu.Lock()
	if !l.opening {
		l.mu.Unlock()
		return
	}
	if l.err == nil {
		l.err = err
	}
	select {
	case <-l.broken:
	default:
		close(l.broken)
	}
	l.mu.Unlock()
	select {}
}

func (l *fatalLogger) fail(err error) {
	l.mu.Lock()
	opening := l.opening
	if opening && l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	if !opening {
		l.once.Do(func() { l.onFail(err) })
	}
}

func (l *fatalLogger) opened() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opening = false
	return l.err
}
