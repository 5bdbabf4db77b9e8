package logtest

import (
	"context"
	"errors"
	"iter"
	"time"

	"wamble/runner/logstore"
)

// ErrUnknown is the error of a call that a Faulty lets fail.
var ErrUnknown = errors.New("the connection was lost")

// Fault is a fault of one call of a log.
type Fault struct {
	Delay time.Duration // before the call
	Lost  bool          // the call fails and has no effect
	Mute  bool          // the call fails but has its effect
}

// Faulty is a log that wraps another one and adds faults.
type Faulty struct {
	logstore.Log
	// Next returns the fault of the next call: "claim", "append", "checkpoint" or "release".
	// Several goroutines may call it at once.
	Next func(call string) Fault
}

func (f *Faulty) do(ctx context.Context, call string, work func() error) error {
	fault := f.Next(call)
	if fault.Delay > 0 {
		select {
		case <-time.After(fault.Delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if fault.Lost {
		return ErrUnknown
	}
	if err := work(); err != nil || !fault.Mute {
		return err
	}
	return ErrUnknown
}

// Claim implements logstore.Log.
func (f *Faulty) Claim(ctx context.Context, name string, h logstore.Holder) (held logstore.Held, err error) {
	err = f.do(ctx, "claim", func() (err error) {
		held, err = f.Log.Claim(ctx, name, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultyHeld{held, f}, nil
}

type faultyHeld struct {
	logstore.Held
	f *Faulty
}

func (h *faultyHeld) Append(ctx context.Context, record []byte) (seq uint64, err error) {
	err = h.f.do(ctx, "append", func() (err error) {
		seq, err = h.Held.Append(ctx, record)
		return err
	})
	return seq, err
}

func (h *faultyHeld) Checkpoint(ctx context.Context, through uint64, state iter.Seq[[]byte]) error {
	return h.f.do(ctx, "checkpoint", func() error { return h.Held.Checkpoint(ctx, through, state) })
}

func (h *faultyHeld) Release(ctx context.Context, to string) error {
	return h.f.do(ctx, "release", func() error { return h.Held.Release(ctx, to) })
}
