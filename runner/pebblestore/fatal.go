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
	err     error // the first fatal error while opening
}

func (l *fatalLogger) Infof(string, ...any) {}

func (l *fatalLogger) Errorf(format string, args ...any) {
	slog.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf marks the runner failed. Two callers may go on: Open, which returns
// an error after it, and our committer, whose commit then reports the failure.
// All others are background work in the middle of changing the list of files;
// they must not take another step, so their goroutine blocks here for ever.
func (l *fatalLogger) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.mu.Lock()
	opening := l.opening
	if opening && l.err == nil {
		l.err = err
	}
	l.mu.Unlock()
	if opening {
		return
	}
	l.fail(err)
	if !strings.HasPrefix(format, "pebble: fatal commit error") {
		select {}
	}
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
