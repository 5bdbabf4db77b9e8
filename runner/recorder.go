package runner

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A recording is "RREC", version 2, then events: kind u8, flags u8 (1: with an error, 2: of a
// timer), worker u64, seq u64, row u64, due i64 and seq u64 of the timer, attempts u32, error
// length u16, frame length u32, error text, frame. Integers are little-endian. In version 1,
// which can be read too, the worker is u32.
const (
	recordMagic    = "RREC\x02"
	oldRecordMagic = "RREC\x01"
	recordHeader   = 52
	maxErrorText   = 1<<16 - 1

	recordHasErr    = 1
	recordFromTimer = 2
)

// Recorder writes replay events to a stream. Set its method Event as Sinks.Replay.
type Recorder struct {
	mu    sync.Mutex
	w     io.Writer
	buf   []byte
	err   error
	count uint64
}

// NewRecorder begins a recording on w. There is one write per event; wrap w in a bufio.Writer
// if that matters.
func NewRecorder(w io.Writer) *Recorder {
	r := &Recorder{w: w}
	_, r.err = io.WriteString(w, recordMagic)
	return r
}

// Event writes one event.
func (r *Recorder) Event(ev ReplayEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	r.buf = ev.append(r.buf[:0])
	if _, r.err = r.w.Write(r.buf); r.err == nil {
		r.count++
	}
}

// Close returns the number of recorded events and the first error. It does not close the
// stream.
func (r *Recorder) Close() (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.err
}

func (ev *ReplayEvent) append(dst []byte) []byte {
	text, flags := "", byte(0)
	if ev.Err != nil {
		text, flags = ev.Err.Error(), recordHasErr
		text = text[:min(len(text), maxErrorText)]
	}
	if ev.FromTimer {
		flags |= recordFromTimer
	}
	dst = append(dst, byte(ev.Kind), flags)
	for _, v := range [...]uint64{ev.Worker, ev.Seq, ev.Row.Seq, uint64(ev.Timer.due), ev.Timer.Seq} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, ev.Attempts)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ev.Frame)))
	dst = append(dst, text...)
	return append(dst, ev.Frame...)
}

// ReadRecording calls visit with every event of a recording. maxFrame bounds its allocations.
// It returns ErrFormat or ErrTruncated for an invalid recording.
func ReadRecording(r io.Reader, maxFrame int, visit func(ReplayEvent) error) error {
	magic := make([]byte, len(recordMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != recordMagic && string(magic) != oldRecordMagic {
		return fmt.Errorf("not a recording: %w", ErrFormat)
	}
	var h [recordHeader]byte
	read := h[:]
	if string(magic) == oldRecordMagic {
		read = h[4:] // kind, flags and worker are moved to their places below
	}
	var body []byte
	for {
		if _, err := io.ReadFull(r, read); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("recording: %w", ErrTruncated)
		}
		if len(read) < len(h) {
			copy(h[:], h[4:10])
			clear(h[6:10])
		}
		failed := h[1]&recordHasErr != 0
		text, frame := int(binary.LittleEndian.Uint16(h[46:])), uint64(binary.LittleEndian.Uint32(h[48:]))
		if h[0] > byte(Kept) || h[1] > recordHasErr|recordFromTimer || frame > uint64(maxFrame) || text > 0 && !failed {
			return fmt.Errorf("recording: %w", ErrFormat)
		}
		n := text + int(frame)
		if cap(body) < n {
			body = make([]byte, n)
		}
		body = body[:n]
		if _, err := io.ReadFull(r, body); err != nil {
			return fmt.Errorf("recording: %w", ErrTruncated)
		}
		ev := ReplayEvent{
			Kind: ReplayKind(h[0]), Worker: binary.LittleEndian.Uint64(h[2:]),
			Seq: binary.LittleEndian.Uint64(h[10:]), Frame: body[text:],
			Attempts: binary.LittleEndian.Uint32(h[42:]), FromTimer: h[1]&recordFromTimer != 0,
			Timer: TimerID{int64(binary.LittleEndian.Uint64(h[26:])), binary.LittleEndian.Uint64(h[34:])},
		}
		ev.Row = Row{ev.Worker, binary.LittleEndian.Uint64(h[18:])}
		if failed {
			ev.Err = errors.New(string(body[:text]))
		}
		if err := visit(ev); err != nil {
			return err
		}
	}
}

// Difference is where a replay differs from its recording.
type Difference struct {
	// Index is the index of the event in the recording.
	Index int
	Event ReplayEvent
	// Want and Got are the recorded and the actual result; nil is success.
	Want, Got error
}

func (d *Difference) Error() string {
	return fmt.Sprintf("event %d (%s of worker %d, seq %d): recorded %v, now %v",
		d.Index, d.Event.Kind, d.Event.Worker, d.Event.Seq, text(d.Want), text(d.Got))
}

func text(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// Replay runs the deliveries of a recording with handlers: the handler of the worker gets each
// delivery as recorded, in a transaction on r, and must end as recorded, with success or with
// the same error text. The effects of a successful one are committed before the next. Runs that
// did not count are left out, and the others run in the order in which they were settled, which
// is the order of their commits if the recorded workers did not change the same state at the
// same time. r should be a separate runner, opened on the checkpoint from which the recording
// began, or empty. Workers without a handler are skipped.
//
// It returns how many deliveries it ran and the first difference, as a *Difference.
func Replay(ctx context.Context, rec io.Reader, r *Runner, handlers map[uint64]Handler) (int, error) {
	type run struct {
		index int
		ReplayEvent
	}
	open := map[Row]run{} // last result of each row that is not settled
	n, index := 0, -1
	err := ReadRecording(rec, r.o.MaxFrame, func(ev ReplayEvent) error {
		index++
		handler := handlers[ev.Worker]
		if handler == nil {
			return nil
		}
		switch ev.Kind {
		case InboxAttempt, TimerAttempt:
			return nil
		case InboxResult, TimerResult:
			ev.Frame = bytes.Clone(ev.Frame)
			open[ev.Row] = run{index, ev}
			return nil
		}
		last, ok := open[ev.Row]
		delete(open, ev.Row)
		if !ok || text(last.Err) != text(ev.Err) {
			return nil // it did not reach the handler, or did not count
		}
		n++
		if got := replayOne(ctx, r, &last.ReplayEvent, handler); text(got) != text(last.Err) {
			return &Difference{Index: last.index, Event: last.ReplayEvent, Want: last.Err, Got: got}
		}
		return nil
	})
	return n, err
}

func replayOne(ctx context.Context, r *Runner, ev *ReplayEvent, handler Handler) error {
	w := Worker{id: ev.Worker}
	d := Delivery{Row: ev.Row, Frame: ev.Frame, Attempts: ev.Attempts, Timer: ev.Timer, FromTimer: ev.FromTimer, w: &w}
	if err := w.open(&d); err != nil {
		return err
	}
	_, err := r.Update(ctx, AttemptPolicy{Retries: -1}, func(tx *Tx) error { return handler(ctx, tx, &d) })
	return err
}
