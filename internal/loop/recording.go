package loop

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

// recording writes the steps of one life to a file, for 'wamble replay'. It is a
// tool to find faults with: it costs the loop a write to the page cache now and
// then. A recording that fails ends, and the server goes on.
type recording struct {
	log      *slog.Logger
	file     *os.File
	buffer   *bufio.Writer
	recorder *profile.Recorder
}

// next begins the recording of another life. One that succeeds
// another image finds the recordings of that.
func (t *tape) next(o profile.Options, log *slog.Logger) (*recording, error) {
	for {
		t.n++
		r, err := newRecording(t.file, t.n, o, log)
		if !t.succeeds || !errors.Is(err, fs.ErrExist) {
			return r, err
		}
	}
}

// newRecording begins a recording. The first life gets the file of that name,
// the n-th the name with .n added; there must be none yet.
func newRecording(name string, n int, o profile.Options, log *slog.Logger) (*recording, error) {
	if n > 1 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	// It holds the tokens of all players.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &recording{log: log, file: f, buffer: bufio.NewWriterSize(f, 1<<20)}
	if r.recorder, err = profile.NewRecorder(r.buffer, o); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// step records a step that was run. A nil recording does nothing.
func (r *recording) step(now time.Time, inputs []profile.Input, out *profile.Output) {
	if r == nil || r.recorder == nil {
		return
	}
	if err := r.recorder.Step(now, inputs, out); err != nil {
		r.log.Error("the recording has ended", "file", r.file.Name(), "err", err)
		r.recorder = nil
	}
}

// flush writes what is left, but goes on.
func (r *recording) flush() {
	if r == nil {
		return
	}
	if err := r.buffer.Flush(); err != nil {
		r.log.Error("the recording is not whole", "file", r.file.Name(), "err", err)
	}
}

// close writes what is left.
func (r *recording) close() {
	if r == nil {
		return
	}
	if err := errors.Join(r.buffer.Flush(), r.file.Close()); err != nil {
		r.log.Error("the recording is not whole", "file", r.file.Name(), "err", err)
	}
}
