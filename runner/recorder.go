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

// A recording is "RREC", version 0, then events: kind u8, flags u8 (1: it has
// an error), worker u32, seq u64, error length u16, frame length u32, the
// error's text, the frame. Integers are little-endian.
const (
	recordMagic  = "RREC\x00"
	recordHeader = 20
	maxErrorText = 1<<16 - 1
)

// Recorder writes replay events to a stream. Install its Event method as
// Sinks.Replay.
type Recorder struct {
	mu    sync.Mutex
	w     io.Writer
	buf   []byte
	err   error
	count uint64
}

// NewRecorder begins a recording on w. Writes are one per event; wrap w in a
// bufio.Writer when that matters.
func NewRecorder(w io.Writer) *Recorder {
	r := &Recorder{w: w}
	_, r.err = io.WriteString(w, recordMagic)
	return r
}

// Event appends one event; it copies what it keeps.
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

// Close returns the number of events recorded and the first error. It does
// not close the stream.
func (r *Recorder) Close() (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.err
}

func (ev *ReplayEvent) append(dst []byte) []byte {
	text, flag := "", byte(0)
	if ev.Err != nil {
		text, flag = ev.Err.Error(), 1
		text = text[:min(len(text), maxErrorText)]
	}
	dst = append(dst, byte(ev.Kind), flag)
	dst = binary.LittleEndian.AppendUint32(dst, ev.Worker)
	dst = binary.LittleEndian.AppendUint64(dst, ev.Seq)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(ev.Frame)))
	dst = append(dst, text...)
	return append(dst, ev.Frame...)
}

// ReadRecording calls visit with every event of a recording. maxFrame bounds
// what it allocates. It returns ErrFormat or ErrTruncated for a bad one.
func ReadRecording(r io.Reader, maxFrame int, visit func(ReplayEvent) error) error {
	magic := make([]byte, len(recordMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != recordMagic {
		return fmt.Errorf("not a recording: %w", ErrFormat)
	}
	var h [recordHeader]byte
	var body []byte
	for {
		if _, err := io.ReadFull(r, h[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("recording: %w", ErrTruncated)
		}
		text, frame := int(binary.LittleEndian.Uint16(h[14:])), uint64(binary.LittleEndian.Uint32(h[16:]))
		if h[0] > byte(DeadLettered) || h[1] > 1 || frame > uint64(maxFrame) || text > 0 && h[1] == 0 {
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
			Kind: ReplayKind(h[0]), Worker: binary.LittleEndian.Uint32(h[2:]),
			Seq: binary.LittleEndian.Uint64(h[6:]), Frame: body[text:],
		}
		if h[1] == 1 {
			ev.Err = errors.New(string(body[:text]))
		}
		if err := visit(ev); err != nil {
			return err
		}
	}
}

// Difference is where a replay left its recording.
type Difference struct {
	// Index is the number of the event in the recording, from 0.
	Index int
	Event ReplayEvent
	// Want and Got are the recorded and the present result; nil is success.
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

// Replay runs the results of a recording against handlers: for every result
// event, the handler of its worker gets the frame, in a transaction on r, and
// must end as recorded, with success or with the same error text. What a
// successful one does is committed, so that the next finds it. r should be a
// runner of its own, opened on the checkpoint from which the recording began,
// or empty. Workers without a handler are skipped.
//
// It returns how many events it ran and the first difference, as a *Difference.
func Replay(ctx context.Context, rec io.Reader, r *Runner, handlers map[uint32]Handler) (int, error) {
	n, index := 0, -1
	err := ReadRecording(rec, r.o.MaxFrame, func(ev ReplayEvent) error {
		index++
		handler := handlers[ev.Worker]
		if handler == nil || ev.Kind != InboxResult && ev.Kind != TimerResult {
			return nil
		}
		n++
		got := replayOne(ctx, r, ev, handler)
		if text(got) != text(ev.Err) {
			ev.Frame = bytes.Clone(ev.Frame)
			return &Difference{Index: index, Event: ev, Want: ev.Err, Got: got}
		}
		return nil
	})
	return n, err
}

func replayOne(ctx context.Context, r *Runner, ev ReplayEvent, handler Handler) error {
	w := Worker{id: ev.Worker}
	d := Delivery{Row: Row{uint64(ev.Worker), ev.Seq}, Frame: bytes.Clone(ev.Frame), w: &w}
	if err := w.open(&d); err != nil {
		return err
	}
	_, err := r.Update(ctx, AttemptPolicy{Retries: -1}, func(tx *Tx) error { return handler(ctx, tx, &d) })
	return err
}
