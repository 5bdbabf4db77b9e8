package tape

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"wamble/internal/profile"
)

// Series is the recordings of all lives of a profile. The first life gets the
// file Name, the n-th the name with .n added.
type Series struct {
	Name string // "": nothing is recorded
	// Successor says that another image of the process may have recorded before:
	// names that exist are passed over.
	Successor bool
	n         int // lives so far
}

// Next begins the recording of another life; nil if nothing is recorded. Without
// Successor it is an error if the file exists.
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

// File writes the steps of one life of a profile, for 'wamble replay'. It is a
// tool to find faults with: it costs the loop a write to the page cache now and
// then. A recording that fails ends, and the profile goes on. A nil File records
// nothing.
type File struct {
	log      *slog.Logger
	file     *os.File
	buffer   *bufio.Writer
	recorder *Recorder // nil: it has failed
}

func create(name string, o profile.Options, log *slog.Logger) (*File, error) {
	// It holds the tokens of all players.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &File{log: log, file: f, buffer: bufio.NewWriterSize(f, 1<<20)}
	if r.recorder, err = NewRecorder(r.buffer, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
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
}

// Flush writes what is buffered.
func (f *File) Flush() {
	if f != nil {
		f.report(f.buffer.Flush())
	}
}

// Close writes what is buffered, and closes the file.
func (f *File) Close() {
	if f != nil {
		f.report(errors.Join(f.buffer.Flush(), f.file.Close()))
	}
}

func (f *File) report(err error) {
	if err != nil {
		f.log.Error("the recording is not whole", "file", f.file.Name(), "err", err)
	}
}
