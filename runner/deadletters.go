package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// DeadFilter chooses dead letters. The zero value chooses all.
type DeadFilter struct {
	// Worker chooses one worker's, if HasWorker.
	Worker    uint64
	HasWorker bool
	// Cause chooses one cause, if HasCause.
	Cause    Cause
	HasCause bool
	// Since and Until choose by time of death in ms, Until exclusively; 0
	// means no bound.
	Since, Until int64
	// ID chooses by message id; nil means any.
	ID []byte
	// Reason chooses by a part of the reason's text.
	Reason string
}

func (f *DeadFilter) match(d *DeadLetter) bool {
	switch {
	case f.HasWorker && d.Row.Worker != f.Worker,
		f.HasCause && d.Cause != f.Cause,
		f.Since != 0 && d.Time < f.Since,
		f.Until != 0 && d.Time >= f.Until,
		!strings.Contains(d.Reason, f.Reason):
		return false
	case f.ID == nil:
		return true
	}
	m, err := DecodeMessage(d.Frame)
	return err == nil && bytes.Equal(m.ID, f.ID)
}

// EachDeadLetter visits the dead letters that f chooses, by worker and number,
// from after on, until visit returns false. A record that does not decode is
// visited with its bytes as Frame and the error as Reason, so that one bad
// record hides nothing.
func (r *Runner) EachDeadLetter(f DeadFilter, after Row, visit func(DeadLetter) bool) error {
	return r.view(func(_ *engine, v View) error {
		lo, hi := rowKey(nil, deadTable, after), []byte{byte(deadTable) + 1}
		if f.HasWorker {
			from, to := inboxRange(deadTable, f.Worker, 0)
			if bytes.Compare(from, lo) > 0 {
				lo = from
			}
			hi = to
		}
		return v.Scan(lo, hi, func(key, value []byte) bool {
			row, err := decodeRowKey(key[1:])
			if err != nil {
				return true
			}
			d := openDead(row, value)
			return !f.match(&d) || visit(d)
		})
	})
}

// openDead decodes a record, or wraps one that does not decode.
func openDead(row Row, value []byte) DeadLetter {
	d, err := decodeDead(bytes.Clone(value))
	if err != nil {
		d = DeadLetter{Cause: CauseMalformed, Reason: err.Error(), Frame: bytes.Clone(value), garbage: true}
	}
	d.Row = row
	return d
}

// DeadLetters returns up to limit dead letters that f chooses, from after on.
func (r *Runner) DeadLetters(f DeadFilter, after Row, limit int) ([]DeadLetter, error) {
	var out []DeadLetter
	if limit <= 0 {
		return nil, nil
	}
	err := r.EachDeadLetter(f, after, func(d DeadLetter) bool {
		out = append(out, d)
		return len(out) < limit
	})
	return out, err
}

// DeadLetter returns one dead letter, or ErrNotFound.
func (r *Runner) DeadLetter(row Row) (DeadLetter, error) {
	var d DeadLetter
	err := r.view(func(_ *engine, v View) error {
		value, ok, err := v.Get(nil, rowKey(nil, deadTable, row))
		if err == nil && !ok {
			err = fmt.Errorf("dead letter %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
		}
		if err == nil {
			d = openDead(row, value)
		}
		return err
	})
	return d, err
}

// ReplayDeadLetter puts a dead letter back at the tail of its inbox with a
// fresh budget, and returns its new row. The frame is unchanged. A record that
// does not decode, or whose frame does not, is refused with ErrFormat.
func (r *Runner) ReplayDeadLetter(ctx context.Context, row Row) (Row, error) {
	var to Row
	err := r.write(ctx, func(c *commit) (err error) {
		to, err = c.revive(row)
		return err
	})
	return to, err
}

func (c *commit) revive(row Row) (Row, error) {
	d, key, err := c.dead(row)
	if err != nil {
		return Row{}, err
	}
	m, err := DecodeMessage(d.Frame)
	if err != nil || d.garbage {
		return Row{}, fmt.Errorf("dead letter %d of worker %d cannot be replayed: %w", row.Seq, row.Worker, ErrFormat)
	}
	if m.To < 0 {
		return Row{}, fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	}
	c.forget(key)
	return Row{uint64(m.To), c.post(uint64(m.To), m.Flags.band(), d.Frame)}, nil
}

func (c *commit) dead(row Row) (DeadLetter, []byte, error) {
	key := rowKey(nil, deadTable, row)
	value, ok, err := c.get(key)
	if err == nil && !ok {
		err = fmt.Errorf("dead letter %d of worker %d: %w", row.Seq, row.Worker, ErrNotFound)
	}
	if err != nil {
		return DeadLetter{}, nil, err
	}
	return openDead(row, value), key, nil
}

func (c *commit) forget(key []byte) {
	c.stage(key, nil)
	c.e.ix.deadCount--
	c.dirty = true
}

// replayPage is how many dead letters one commit replays or drops.
const replayPage = 256

// ReplayDeadLetters replays all dead letters that f chooses and that exist
// when it begins, and returns how many. Those that cannot be replayed stay.
func (r *Runner) ReplayDeadLetters(ctx context.Context, f DeadFilter) (int, error) {
	return r.eachPage(f, func(rows []Row) (n int, err error) {
		err = r.write(ctx, func(c *commit) error {
			for _, row := range rows {
				if _, err := c.revive(row); err == nil {
					n++
				}
			}
			return nil
		})
		return n, err
	})
}

// DropDeadLetter deletes one dead letter, or returns ErrNotFound.
func (r *Runner) DropDeadLetter(ctx context.Context, row Row) error {
	return r.engine().do(ctx, func(c *commit) error {
		_, key, err := c.dead(row)
		if err == nil {
			c.forget(key)
		}
		return err
	})
}

// DropDeadLetters deletes all dead letters that f chooses, and returns how
// many. Retention is DropDeadLetters with Until.
func (r *Runner) DropDeadLetters(ctx context.Context, f DeadFilter) (int, error) {
	return r.eachPage(f, func(rows []Row) (n int, err error) {
		err = r.engine().do(ctx, func(c *commit) error {
			for _, row := range rows {
				if _, key, err := c.dead(row); err == nil {
					c.forget(key)
					n++
				}
			}
			return nil
		})
		return n, err
	})
}

// eachPage calls do with the rows that f chooses now, some at a time.
func (r *Runner) eachPage(f DeadFilter, do func([]Row) (int, error)) (int, error) {
	r.engine().ix.mu.Lock()
	end := r.engine().ix.deadNext
	r.engine().ix.mu.Unlock()
	total := 0
	var after Row
	for {
		var page []Row
		err := r.EachDeadLetter(f, after, func(d DeadLetter) bool {
			if d.Row.Seq < end {
				page = append(page, d.Row)
			}
			return len(page) < replayPage
		})
		if err != nil || len(page) == 0 {
			return total, err
		}
		n, err := do(page)
		total += n
		if err != nil || len(page) < replayPage {
			return total, err
		}
		after = page[len(page)-1]
		after.Seq++
	}
}

// exported is a dead letter as a line of JSON.
type exported struct {
	Worker       uint64   `json:"worker"`
	Seq          uint64   `json:"seq"`
	Cause        string   `json:"cause"`
	Code         int32    `json:"code,omitempty"`
	Attempts     uint32   `json:"attempts"`
	Time         string   `json:"time,omitempty"`
	Reason       string   `json:"reason"`
	SourceWorker uint64   `json:"source_worker"`
	SourceSeq    uint64   `json:"source_seq"`
	Timer        *TimerID `json:"timer,omitempty"`
	Frame        []byte   `json:"frame"`
}

// Export writes one dead letter as a line of JSON.
func (d *DeadLetter) Export(w io.Writer) error {
	x := exported{
		Worker: d.Row.Worker, Seq: d.Row.Seq, Cause: d.Cause.String(), Code: d.Code,
		Attempts: d.Attempts, Reason: d.Reason, SourceWorker: d.Source.Worker,
		SourceSeq: d.Source.Seq, Frame: d.Frame,
	}
	if d.Time != 0 {
		x.Time = time.UnixMilli(d.Time).UTC().Format(time.RFC3339Nano)
	}
	if d.FromTimer {
		x.Timer = &d.Timer
	}
	return json.NewEncoder(w).Encode(x)
}
