package runner

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Cause says why a message became a dead letter.
type Cause uint8

// The causes.
const (
	CauseUnknown   Cause = 0 // a record of the original, which has only a number
	CauseBudget    Cause = 1 // it failed as often as its budget allows
	CauseCrash     Cause = 2 // as CauseBudget, but the process died in each of the runs
	CausePanic     Cause = 3 // as CauseBudget, and the last failure was a panic
	CauseMalformed Cause = 4 // its frame does not decode
	CauseMisrouted Cause = 5 // its frame names another worker
	CauseDiscarded Cause = 6 // the handler returned Discard
	CauseReframed  Cause = 7 // a batch handler added it with Batched.DeadLetter
)

// causes has the names of the causes.
var causes = [...]string{"unknown", "budget", "crash", "panic", "malformed", "misrouted", "discarded", "reframed"}

func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c]
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// DeadLetter is a message that left its inbox without success.
type DeadLetter struct {
	// Row identifies the dead letter: its worker, and a number of its own.
	Row   Row
	Cause Cause
	// Code is the number in records of the original, else 0.
	Code     int32
	Attempts uint32
	// Time is when the message became a dead letter; zero in old records.
	Time time.Time
	// Source is the message's inbox row. Timer is the timer that fired it, if FromTimer is set.
	Source    Row
	Timer     TimerID
	FromTimer bool
	// Reason is the text of the last error, at most 1,024 bytes.
	Reason string
	// Frame is the message as it was posted.
	Frame []byte

	garbage bool // the record itself does not decode
}

// A record of the original:  DLQ0, code i32, attempts u32, length u32, frame. This runner's
// record, which also has time, reason and source:
//
//	 0 DLQ1        4 cause u8     5 from-timer u8   6 reason length u16
//	 8 attempts u32  12 frame length u32  16 time i64  24 source worker u64
//	32 source seq u64  40 timer due i64  48 timer seq u64  56 frame, reason
const (
	oldDeadMagic  = "DLQ0"
	oldDeadHeader = 16
	deadMagic     = "DLQ1"
	deadHeader    = 56
	maxReason     = 1024
)

func (d *DeadLetter) append(dst []byte) []byte {
	reason := d.Reason[:min(len(d.Reason), maxReason)]
	var timer byte
	if d.FromTimer {
		timer = 1
	}
	le := binary.LittleEndian
	dst = append(dst, deadMagic...)
	dst = append(dst, byte(d.Cause), timer)
	dst = le.AppendUint16(dst, uint16(len(reason)))
	dst = le.AppendUint32(dst, d.Attempts)
	dst = le.AppendUint32(dst, uint32(len(d.Frame)))
	for _, v := range [5]uint64{uint64(msOf(d.Time)), d.Source.Worker, d.Source.Seq, uint64(d.Timer.due), d.Timer.Seq} {
		dst = le.AppendUint64(dst, v)
	}
	dst = append(dst, d.Frame...)
	return append(dst, reason...)
}

// decodeDead decodes both kinds of records. Frame is a view into b.
func decodeDead(b []byte) (DeadLetter, error) {
	if len(b) >= oldDeadHeader && string(b[:4]) == oldDeadMagic {
		return decodeOldDead(b)
	}
	if len(b) < deadHeader || string(b[:4]) != deadMagic {
		return DeadLetter{}, fmt.Errorf("dead letter of %d bytes: %w", len(b), ErrFormat)
	}
	le := binary.LittleEndian
	reason, frame := uint64(le.Uint16(b[6:])), uint64(le.Uint32(b[12:]))
	switch {
	case int(b[4]) >= len(causes) || b[5] > 1:
		return DeadLetter{}, fmt.Errorf("dead letter with cause %d: %w", b[4], ErrFormat)
	case frame == 0 || reason > maxReason || deadHeader+frame+reason != uint64(len(b)):
		return DeadLetter{}, fmt.Errorf("dead letter lengths do not add up: %w", ErrFormat)
	}
	return DeadLetter{
		Cause:     Cause(b[4]),
		FromTimer: b[5] == 1,
		Attempts:  le.Uint32(b[8:]),
		Time:      timeOf(int64(le.Uint64(b[16:]))),
		Source:    Row{le.Uint64(b[24:]), le.Uint64(b[32:])},
		Timer:     TimerID{int64(le.Uint64(b[40:])), le.Uint64(b[48:])},
		Frame:     b[deadHeader : deadHeader+frame : deadHeader+frame],
		Reason:    string(b[deadHeader+frame:]),
	}, nil
}

func decodeOldDead(b []byte) (DeadLetter, error) {
	n := uint64(binary.LittleEndian.Uint32(b[12:]))
	if n == 0 || oldDeadHeader+n != uint64(len(b)) {
		return DeadLetter{}, fmt.Errorf("dead letter of %d bytes: %w", len(b), ErrFormat)
	}
	return DeadLetter{
		Code:     int32(binary.LittleEndian.Uint32(b[4:])),
		Attempts: binary.LittleEndian.Uint32(b[8:]),
		Frame:    b[oldDeadHeader:],
	}, nil
}

// DeadFilter selects dead letters. The zero value selects all.
type DeadFilter struct {
	// Worker selects one worker's, if HasWorker is set.
	Worker    uint64
	HasWorker bool
	// Cause selects one cause, if HasCause is set.
	Cause    Cause
	HasCause bool
	// Since and Until select by DeadLetter.Time, Until exclusive; zero means no bound.
	Since, Until time.Time
	// ID selects by message id; nil means any.
	ID []byte
	// Reason selects by a substring of the reason.
	Reason string
}

func (f *DeadFilter) match(d *DeadLetter) bool {
	switch {
	case f.HasWorker && d.Row.Worker != f.Worker,
		f.HasCause && d.Cause != f.Cause,
		!f.Since.IsZero() && d.Time.Before(f.Since),
		!f.Until.IsZero() && !d.Time.Before(f.Until),
		!strings.Contains(d.Reason, f.Reason):
		return false
	case f.ID == nil:
		return true
	}
	m, err := DecodeMessage(d.Frame)
	return err == nil && bytes.Equal(m.ID, f.ID)
}

// EachDeadLetter visits the dead letters that f selects, by worker and number, from after on,
// until visit returns false. A record that does not decode is visited with its bytes as Frame
// and the error as Reason.
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

// DeadLetters returns up to limit dead letters that f selects, from after on.
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

// ReplayDeadLetter moves a dead letter back to the tail of its inbox with a new budget, and
// returns its new row. The frame is unchanged. It returns ErrFormat if the record or its frame
// does not decode.
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
	if m.To > math.MaxInt64 {
		return Row{}, fmt.Errorf("worker %d: %w", m.To, ErrInvalid)
	}
	c.forget(key)
	in := c.e.ix.inbox(m.To)
	var h record
	known := false
	if in.tracked() {
		h, known, err = c.record(in, m.ID)
	}
	to := Row{in.worker, c.post(in.worker, m.Flags.band(), d.Frame)}
	if known && err == nil {
		// The message keeps its history.
		h.place, h.seq, h.ended = placeInbox, to.Seq, 0
		c.putRecord(in.worker, dedupeHash(m.ID), &h)
	}
	return to, nil
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

// drop deletes a dead letter.
func (c *commit) drop(d *DeadLetter, key []byte) {
	c.forget(key)
	m, err := DecodeMessage(d.Frame)
	if in := c.e.ix.inboxes[d.Row.Worker]; err == nil && in != nil && in.tracked() {
		if h, ok, err := c.record(in, m.ID); err == nil && ok && h.place == placeDead && h.seq == d.Row.Seq {
			c.moved(in, m.ID, placeDeleted, 0, nil)
		}
	}
}

func (c *commit) forget(key []byte) {
	c.stage(key, nil)
	c.e.ix.deadCount--
	c.dirty = true
}

// replayPage is how many dead letters one commit replays or drops.
const replayPage = 256

// ReplayDeadLetters replays all dead letters that f selects and that exist when it begins, and
// returns their number. Those that cannot be replayed stay.
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
		d, key, err := c.dead(row)
		if err == nil {
			c.drop(&d, key)
		}
		return err
	})
}

// DropDeadLetters deletes all dead letters that f selects, and returns their number. With Until
// it limits their retention.
func (r *Runner) DropDeadLetters(ctx context.Context, f DeadFilter) (int, error) {
	return r.eachPage(f, func(rows []Row) (n int, err error) {
		err = r.engine().do(ctx, func(c *commit) error {
			for _, row := range rows {
				if d, key, err := c.dead(row); err == nil {
					c.drop(&d, key)
					n++
				}
			}
			return nil
		})
		return n, err
	})
}

// dropOldDead drops the dead letters that are older than Options.KeepDead, once an hour.
func (w *Worker) dropOldDead(ctx context.Context, e *engine, now int64) error {
	r := w.r
	at, next := e.dropDead.Load(), later(now, time.Hour.Milliseconds())
	if r.o.KeepDead <= 0 || now < at || !e.dropDead.CompareAndSwap(at, next) {
		return nil
	}
	w.idle.Store(false) // whoever posts now wakes another one
	defer w.poke()      // because there may be no other
	_, err := r.DropDeadLetters(ctx, DeadFilter{Until: time.UnixMilli(now).Add(-r.o.KeepDead)})
	return err
}

// eachPage calls do with pages of the rows that f selects now.
func (r *Runner) eachPage(f DeadFilter, do func([]Row) (int, error)) (int, error) {
	ix := &r.engine().ix
	ix.mu.Lock()
	end := ix.deadNext
	ix.mu.Unlock()
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

// Export writes one dead letter as a line of JSON, as `wamble runner dead-letters
// export` does.
func (d *DeadLetter) Export(w io.Writer) error {
	x := exported{
		Worker: d.Row.Worker, Seq: d.Row.Seq, Cause: d.Cause.String(), Code: d.Code,
		Attempts: d.Attempts, Reason: d.Reason, SourceWorker: d.Source.Worker,
		SourceSeq: d.Source.Seq, Frame: d.Frame,
	}
	if !d.Time.IsZero() {
		x.Time = d.Time.UTC().Format(time.RFC3339Nano)
	}
	if d.FromTimer {
		x.Timer = &d.Timer
	}
	return json.NewEncoder(w).Encode(x)
}
