package runner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"
)

// timerHead has the positions of the first timers. Stored keys put all negative due times after
// the others, so there are two ranges, each with its own head; in time order the negative range
// is first.
type timerHead struct {
	heads [2]TimerID // no timer of the range is below it; [0] is the negative range
	none  [2]bool    // the range is known to be empty
}

// timerRange returns the range of a due time.
func timerRange(due int64) int {
	if due < 0 {
		return 0
	}
	return 1
}

// before is the order of timers within a range, which is the order of time.
func (id TimerID) before(other TimerID) bool {
	return id.due < other.due || id.due == other.due && id.Seq < other.Seq
}

func (t *timerHead) armed(id TimerID) {
	i := timerRange(id.due)
	if t.none[i] || id.before(t.heads[i]) {
		t.heads[i], t.none[i] = id, false
	}
}

// next returns a lower bound of the earliest due time; ok is false without timers.
func (t *timerHead) next() (due int64, ok bool) {
	for i := range t.heads {
		if !t.none[i] {
			return t.heads[i].due, true
		}
	}
	return 0, false
}

// reset sets the heads to the starts of the ranges.
func (t *timerHead) reset() {
	*t = timerHead{heads: [2]TimerID{{due: math.MinInt64}, {}}}
}

// bounds returns the keys from the head of range i to its end.
func (t *timerHead) bounds(i int) (lo, hi []byte) {
	lo = appendTimerKey([]byte{byte(timerTable)}, t.heads[i])
	if i == 0 {
		return lo, []byte{byte(timerTable) + 1}
	}
	return lo, []byte{byte(timerTable), 0x80}
}

// scanTimers visits armed timers in the order of their due times.
func scanTimers(v View, t timerHead, visit func(id TimerID, frame []byte) bool) error {
	going := true
	for i := range t.heads {
		if t.none[i] || !going {
			continue
		}
		lo, hi := t.bounds(i)
		var bad error
		err := v.Scan(lo, hi, func(key, value []byte) bool {
			id, err := decodeTimerKey(key[1:])
			if err != nil {
				bad = err
				return false
			}
			going = visit(id, value)
			return going
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return fmt.Errorf("read timers: %w", err)
		}
	}
	return nil
}

// maxFire bounds the timers that one request moves.
const maxFire = 256

// fireDue moves due timers to their workers' inboxes and returns their number. Malformed timers
// become dead letters of worker 0.
func (e *engine) fireDue(ctx context.Context, now int64) (int, error) {
	e.ix.mu.Lock()
	due, ok := e.ix.timers.next()
	e.ix.mu.Unlock()
	if !ok || due > now {
		return 0, nil
	}
	moved := 0
	err := e.do(ctx, func(c *commit) (err error) {
		moved, err = c.fire(now)
		return err
	})
	return moved, err
}

type dueTimer struct {
	id    TimerID
	frame []byte
}

func (c *commit) fire(now int64) (int, error) {
	t := &c.e.ix.timers
	var due []dueTimer
	for i := range t.heads {
		if t.none[i] || len(due) == maxFire {
			continue
		}
		lo, hi := t.bounds(i)
		t.none[i] = true
		err := c.e.back.Scan(lo, hi, func(key, value []byte) bool {
			id, err := decodeTimerKey(key[1:])
			if _, gone := c.staged[string(key)]; err != nil || gone {
				return true // cancelled by this group, or a foreign key
			}
			if id.due > now || len(due) == maxFire {
				t.heads[i], t.none[i] = id, false
				return false
			}
			due = append(due, dueTimer{id, append([]byte(nil), value...)})
			return true
		})
		if err != nil {
			t.none[i] = false
			return 0, fmt.Errorf("read timers: %w", err)
		}
	}
	for _, id := range c.armed {
		t.armed(id)
	}
	for _, d := range due {
		c.disarm(d.id)
		if x := c.e.ix.scheduleOf[d.id]; x != nil {
			c.runSchedule(x, now)
		} else {
			c.deliverTimer(d.id, d.frame)
		}
	}
	return len(due), nil
}

func (c *commit) deliverTimer(id TimerID, frame []byte) {
	m, err := DecodeMessage(frame)
	if err == nil && m.To > math.MaxInt64 {
		err = fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	}
	if err != nil {
		if len(frame) == 0 {
			frame = []byte{0} // a record needs a frame, which an empty timer lacks
		}
		c.bury(0, &DeadLetter{Cause: CauseMalformed, Timer: id, FromTimer: true, Reason: err.Error(), Frame: frame})
		return
	}
	value := appendTimerKey(make([]byte, 0, rowKeyLen+len(frame)), id)
	c.post(m.To, bandFired, append(value, frame...))
}

// Arm arms a timer that delivers m at due, at once if due is in the past. It is Post with m.At,
// and returns the id for Cancel.
func (r *Runner) Arm(ctx context.Context, due time.Time, m *Message) (TimerID, error) {
	e := r.engine()
	frame, err := e.encode(m)
	if err != nil {
		return TimerID{}, err
	}
	var id TimerID
	err = e.do(ctx, func(c *commit) error {
		if err := cmp.Or(c.refuseQueued(m), c.noSpace); err != nil {
			return err
		}
		id = c.arm(due.UnixMilli(), frame)
		return nil
	})
	return id, err
}

// Cancel disarms a timer. It returns ErrNotFound if the timer has fired or does not exist; a
// fired message cannot be cancelled.
func (r *Runner) Cancel(ctx context.Context, id TimerID) error {
	return r.engine().do(ctx, func(c *commit) error {
		frame, err := c.timerFrame(id)
		if err == nil {
			c.cancel(id, frame)
		}
		return err
	})
}

// cancel disarms a timer and deletes its message.
func (c *commit) cancel(id TimerID, frame []byte) {
	if x := c.e.ix.scheduleOf[id]; x != nil {
		c.unschedule(x) // including this timer
		return
	}
	c.disarm(id)
	h, err := checkMessage(frame)
	if in := c.e.ix.inboxes[uint64(h.to)]; err == nil && in != nil && in.tracked() {
		c.moved(in, frameID(frame), placeDeleted, 0, nil)
	}
}

func (c *commit) timerFrame(id TimerID) ([]byte, error) {
	key := appendTimerKey([]byte{byte(timerTable)}, id)
	frame, ok, err := c.get(key)
	if err == nil && !ok {
		err = fmt.Errorf("timer %d due %v: %w", id.Seq, id.Due(), ErrNotFound)
	}
	return frame, err
}

// Now returns the time of the clock for timers: the wall clock.
func (r *Runner) Now() time.Time { return r.o.Wall() }

// ArmedTimer is a timer and the frame that it will deliver.
type ArmedTimer struct {
	ID    TimerID `json:"id"`
	Frame []byte  `json:"frame"`
}

// Timers returns up to limit armed timers in the order of their due times: the first ones, or
// those after the timer after, for the next page.
func (r *Runner) Timers(after TimerID, limit int) ([]ArmedTimer, error) {
	var out []ArmedTimer
	err := r.view(func(e *engine, v View) error {
		e.ix.mu.Lock()
		head := e.ix.timers
		e.ix.mu.Unlock()
		if after.Seq > 0 {
			head.pass(after)
		}
		return scanTimers(v, head, func(id TimerID, frame []byte) bool {
			if len(out) == limit {
				return false
			}
			out = append(out, ArmedTimer{id, append([]byte(nil), frame...)})
			return true
		})
	})
	return out, err
}

// pass moves the heads to just after id.
func (t *timerHead) pass(id TimerID) {
	i, next := timerRange(id.due), TimerID{id.due, id.Seq + 1}
	if t.heads[i].before(next) {
		t.heads[i] = next
	}
	t.none[0] = t.none[0] || i == 1
}

// sleepUntil returns how long to sleep at now (ms) until next (ms), at most limit; a limit of 0
// means the largest that the original's 32 bits can represent.
func sleepUntil(now, next int64, limit time.Duration) time.Duration {
	const most = math.MaxUint32
	ms := uint64(limit / time.Millisecond)
	if limit <= 0 {
		ms = most
	}
	if next <= now {
		return 0
	}
	return time.Duration(min(uint64(next)-uint64(now), ms, most)) * time.Millisecond
}
