package tape

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"wamble/internal/guard"
	"wamble/internal/profile"
)

// Series is the recordings of all lives of a profile. The first life gets the file Name, the n-th the name
// with .n appended.
type Series struct {
	Name string // "": no recording
	// Successor says that a previous image of the process may have recorded: existing names are skipped.
	Successor bool
	n         int // lives so far
}

// Next begins the recording of another life; nil if there is no recording. Without Successor an existing
// file is an error.
func (s *Series) Next(o profile.Options, log *slog.Logger) (*File, error) {
	for s.Name != "" {
		s.n++
		name := s.Name
		if s.n > 1 {
			name = fmt.Sprintf("%s.%d", name, s.n)
		}
		f, err := create(name, o, log)
		if !s.Successor || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, nil
}

// File writes the steps of one life of a profile, for 'wamble replay'. It is a tool for debugging: a
// goroutine writes the buffer every second, and when it is large. After an error the recording ends, and
// the profile goes on. A nil File records nothing.
type File struct {
	log      *slog.Logger
	file     *os.File
	recorder *Recorder // nil after an error
	buffer   buffer
	flushNow chan struct{} // signals that the buffer is large
	closed   chan struct{} // closed by Close
	done     chan struct{} // closed when the goroutine has ended

	writing sync.Mutex // held during a write, so that the file keeps the order
	err     error      // first error of a write; guarded by writing
}

const (
	writeEvery  = time.Second
	flushBytes  = 1 << 20
	maxBuffered = 64 << 20 // beyond that the loop itself writes
)

// buffer is what was recorded and is not written yet.
type buffer struct {
	mu    sync.Mutex
	bytes []byte
	spare []byte // memory of the last write
}

// Write appends a block.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// take returns the buffered bytes; giveBack returns their memory.
func (b *buffer) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.bytes
	b.bytes, b.spare = b.spare[:0], nil
	return taken
}

func (b *buffer) giveBack(memory []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = memory
}

func (b *buffer) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bytes)
}

func create(name string, o profile.Options, log *slog.Logger) (*File, error) {
	// It contains the tokens of all players.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &File{log: log, file: f, flushNow: make(chan struct{}, 1), closed: make(chan struct{}),
		done: make(chan struct{})}
	if r.recorder, err = NewRecorder(&r.buffer, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	go func() {
		defer close(r.done)
		guard.Run("the recording", r.writeLoop,
			func(err error) { log.Error("the recording is not written any more", "file", name, "err", err) })
	}()
	return r, nil
}

// writeLoop writes the buffer repeatedly until Close.
func (f *File) writeLoop() {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.closed:
			return
		case <-f.flushNow:
		case <-tick.C:
		}
		f.write()
	}
}

// write writes the buffer, and returns the first error of all writes.
func (f *File) write() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	b := f.buffer.take()
	if len(b) > 0 && f.err == nil {
		_, f.err = f.file.Write(b)
	}
	f.buffer.giveBack(b)
	return f.err
}

// Step records a step that was run.
func (f *File) Step(now time.Time, inputs []profile.Input, out *profile.Output) {
	if f == nil || f.recorder == nil {
		return
	}
	if err := f.recorder.Step(now, inputs, out); err != nil {
		f.log.Error("the recording has ended", "file", f.file.Name(), "err", err)
		f.recorder = nil
	}
	n := f.buffer.size()
	if n > maxBuffered {
		f.write()
	}
	if n > flushBytes {
		select {
		case f.flushNow <- struct{}{}:
		default:
		}
	}
}

// Flush writes the buffer.
func (f *File) Flush() {
	if f != nil {
		f.report(f.write())
	}
}

// Close writes the buffer, and closes the file.
func (f *File) Close() {
	if f != nil {
		close(f.closed)
		<-f.done
		f.report(errors.Join(f.write(), f.file.Close()))
	}
}

func (f *File) report(err error) {
	if err != nil {
		f.log.Error("the recording is not whole", "file", f.file.Name(), "err", err)
	}
}
