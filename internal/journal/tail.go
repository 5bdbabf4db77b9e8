package journal

import (
	"errors"
	"fmt"
	"math"

	"wamble/runner"
)

// ErrGap is returned when messages that a restart needs are not kept any more.
var ErrGap = errors.New("messages are not kept any more")

// Need says that a restart needs all messages behind a number, whether the store has them or not: they are
// kept. At first, and after NeedNothing, none is needed.
func (d *Drain) Need(after uint64) {
	if d.retained != nil {
		d.retained.need.Store(after)
	}
}

// NeedNothing says that no restart needs messages that the store has.
func (d *Drain) NeedNothing() { d.Need(math.MaxUint64) }

// Last returns the number of the profile's last message, 0 if there is none.
func (d *Drain) Last() uint64 { return lastOf(d.r, d.worker.ID()) }

func lastOf(r *runner.Runner, worker uint64) uint64 {
	for _, in := range r.Stats().Inboxes {
		if in.Worker == worker && in.NextSeq > 0 {
			return in.NextSeq - 1
		}
	}
	return 0
}

// Drained returns the last message that has left the journal for the store.
func (d *Drain) Drained() uint64 { return d.drained() }

// tailPage is how many messages of the journal are read at once.
const tailPage = 8 << 10

// Tail visits all messages behind a number in order: the kept ones, then those in the journal. Visit may
// retain the frames. Run must not be running. Errors: ErrGap, that of visit, or that of the runner.
func (d *Drain) Tail(after uint64, visit func(seq uint64, frame []byte) error) error {
	return tail(d.r, d.retained, d.worker.ID(), after, visit)
}

// tail is Drain.Tail for a worker; k is nil if nothing is kept.
func tail(r *runner.Runner, k *retained, worker, after uint64, visit func(seq uint64, frame []byte) error) error {
	drained, last, next := drainedOf(r, worker), lastOf(r, worker), after+1
	if k != nil && next <= drained {
		for seq, frame := range k.after(after) {
			if seq != next || seq > drained {
				break
			}
			if err := visit(seq, frame); err != nil {
				return err
			}
			next++
		}
	}
	if next <= drained {
		return fmt.Errorf("%w: those from %d on are needed, and those up to %d have left the journal", ErrGap, next,
			drained)
	}
	for next <= last {
		rows, err := r.Inbox(worker, next, tailPage)
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].Seq != next {
				return fmt.Errorf("%w: after %d comes %d", ErrGap, next-1, rows[i].Seq)
			}
			m, err := runner.DecodeMessage(rows[i].Frame)
			if err != nil {
				return err
			}
			if err := visit(next, m.Payload); err != nil {
				return err
			}
			next++
		}
		if len(rows) == 0 {
			return fmt.Errorf("%w: nothing comes after %d, and the journal ends at %d", ErrGap, next-1, last)
		}
	}
	return nil
}

// NeedAlso is Need that keeps what is needed already.
func (d *Drain) NeedAlso(after uint64) {
	if d.retained != nil && after < d.retained.need.Load() {
		d.retained.need.Store(after)
	}
}
