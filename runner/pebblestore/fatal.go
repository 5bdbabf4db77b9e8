package pebblestore

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// fatalLogger is the Logger given to Pebble. Pebble calls Fatalf where it
// would have the process die, and does not expect it to return.
type fatalLogger struct {
	once    sync.Once
	onFail  func(error)
	mu      sync.Mutex
	opening bool
	err     error         // the first fatal error while opening
	broken  chan struct{} // closed with it, if Pebble would never stop trying
}

func newFatalLogger() *fatalLogger {
	return &fatalLogger{opening: true, broken: make(chan struct{})}
}

// background is told the error of a flush or a compaction, which Pebble tries again
// at once. That helps against a full disk, and never against anything else.
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

// Fatalf marks the runner failed. One caller may go on: our committer, whose commit
// then reports the failure. All others are in the middle of changing the list of
// files; they must not take another step, so their goroutine blocks here for ever.
func (l *fatalLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.giveUp(err)
	l.fail(err)
	if !strings.HasPrefix(format, "pebble: fatal commit error") {
		select {}
	}
}

// giveUp ends an opening with an error that Pebble does not return from. It does
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
