package runner

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// TestFrameIsNotKept: a caller of Arm or insert whose context ends may use its buffer again
// at once: the frame is stored as it was passed, or not at all.
func TestFrameIsNotKept(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := r.engine()
	frame, err := (&Message{To: 7, ID: []byte("m"), Payload: bytes.Repeat([]byte("x"), 1000)}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(frame))
	calls := []func(ctx context.Context, i int) error{
		func(ctx context.Context, _ int) error {
			m, err := DecodeMessage(buf) // a view into buf
			if err == nil {
				_, err = r.Arm(ctx, time.UnixMilli(1<<60), &m)
			}
			return err
		},
		func(ctx context.Context, i int) error { return r.insert(ctx, Row{9, uint64(i)}, buf) },
	}
	left := 0
	for i := range 400 {
		// The committer is busy during the call, and when the call returns.
		held, release, busy := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			busy <- e.do(context.Background(), func(*commit) error { close(held); <-release; return nil })
		}()
		<-held
		ctx, cancel := context.WithCancel(t.Context())
		if i%4 < 2 {
			cancel()
		} else {
			go cancel()
			go func() { close(release) }()
		}
		copy(buf, frame)
		if err := calls[i%2](ctx, i+1); errors.Is(err, context.Canceled) {
			left++
		} else if err != nil {
			t.Fatal(err)
		}
		clear(buf)
		cancel()
		if i%4 < 2 {
			close(release)
		}
		if err := <-busy; err != nil {
			t.Fatal(err)
		}
	}
	if left < 200 {
		t.Errorf("%d callers left, want at least 200", left)
	}
	timers, err := r.Timers(TimerID{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, timer := range timers {
		if !bytes.Equal(timer.Frame, frame) {
			t.Fatalf("timer %d holds %.20q…", timer.ID.Seq, timer.Frame)
		}
	}
	rows, err := r.Inbox(9, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if !bytes.Equal(row.Frame, frame) {
			t.Fatalf("row %d holds %.20q…", row.Seq, row.Frame)
		}
	}
}
