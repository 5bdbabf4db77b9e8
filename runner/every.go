package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// scheduled is a schedule, stored under its name and armed as a timer. When the timer fires,
// the message is posted and the next timer armed in one commit, regardless of the message's
// outcome.
//
//	runner.every.NAME    EVR0, timer due i64, timer seq u64, last due i64, skipped u64,
//	                     lengths of spec and last id u16 u16, spec, last id, LMSG frame
type scheduled struct {
	name    string
	spec    string
	frame   []byte // the message; its id is the name of the schedule
	timer   TimerID
	last    int64  // due time of the last message, 0 before the first
	lastID  string // id of the last message
	skipped uint64

	times schedule
}

const (
	everyKey   = "runner.every." // followed by the name
	everyMagic = "EVR0"
	everyFixed = 40
)

func (x *scheduled) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(dst, everyMagic...)
	for _, v := range [4]uint64{uint64(x.timer.due), x.timer.Seq, uint64(x.last), x.skipped} {
		dst = le.AppendUint64(dst, v)
	}
	dst = le.AppendUint16(dst, uint16(len(x.spec)))
	dst = le.AppendUint16(dst, uint16(len(x.lastID)))
	return append(append(append(dst, x.spec...), x.lastID...), x.frame...)
}

func decodeScheduled(name string, b []byte) (*scheduled, error) {
	le := binary.LittleEndian
	if len(b) < everyFixed || string(b[:4]) != everyMagic {
		return nil, badLength("schedule", b)
	}
	spec := everyFixed + int(le.Uint16(b[36:]))
	id := spec + int(le.Uint16(b[38:]))
	if id > len(b) {
		return nil, badLength("schedule", b)
	}
	x := &scheduled{
		name: name, spec: string(b[everyFixed:spec]), lastID: string(b[spec:id]), frame: bytes.Clone(b[id:]),
		timer: TimerID{int64(le.Uint64(b[4:])), le.Uint64(b[12:])}, last: int64(le.Uint64(b[20:])),
		skipped: le.Uint64(b[28:]),
	}
	if _, err := checkMessage(x.frame); err != nil {
		return nil, fmt.Errorf("schedule %q: %w", name, err)
	}
	var err error
	if x.times, err = parseSchedule(x.spec); err != nil {
		x.times = schedule{every: 24 * time.Hour} // its time zone is unknown on this machine
	}
	return x, nil
}

// Every posts m at the times of a schedule: an interval such as "10m", or a cron expression
// such as "0 8 * * mon-fri" (in UTC, or with a zone: "TZ=Europe/Berlin 0 8 * * *"). A name has
// one schedule, however often the program starts: declared again with the same schedule and
// message it continues unchanged, otherwise it is replaced. m needs a named queue; its ID is
// made of the name and the time, and At is ignored.
//
// A time at which the last message still waits or runs is skipped; of several times missed
// while no runner was open, one is made up for. A wall clock that is set back by up to three
// hours repeats no time of a cron expression. The outcome of a message does not affect the
// schedule.
func (r *Runner) Every(ctx context.Context, name, schedule string, m *Message) error {
	times, err := parseSchedule(schedule)
	if err != nil {
		return err
	}
	if len(name) == 0 || len(name) > maxQueueName {
		return fmt.Errorf("a schedule's name has 1 to %d bytes, this one %d: %w", maxQueueName, len(name), ErrInvalid)
	}
	e := r.engine()
	template := *m
	template.ID = []byte(name)
	frame, err := e.encode(&template)
	if err != nil {
		return err
	}
	err = e.do(ctx, func(c *commit) error {
		if in := c.e.ix.inboxes[template.To]; in == nil || !in.tracked() {
			return fmt.Errorf("schedule %q needs a queue with a name: %w", name, ErrInvalid)
		}
		old := c.e.ix.schedules[name]
		if old != nil && old.spec == schedule && bytes.Equal(old.frame, frame) {
			return nil
		}
		if c.noSpace != nil {
			return c.noSpace
		}
		x := &scheduled{name: name, spec: schedule, frame: frame, times: times}
		if old != nil {
			x.last, x.lastID, x.skipped = old.last, old.lastID, old.skipped
			c.unschedule(old)
		}
		c.schedule(x, times.next(time.UnixMilli(c.e.wall())))
		return nil
	})
	if err == nil {
		r.declared.Store(name, nil)
	}
	return err
}

// Every posts v at the times of a schedule, see Runner.Every.
func (q *Queue[T]) Every(ctx context.Context, name, schedule string, v T) error {
	m, err := q.Message(v)
	if err != nil {
		return err
	}
	return q.r.Every(ctx, name, schedule, m)
}

// schedule arms the next timer of x and stores both.
func (c *commit) schedule(x *scheduled, next time.Time) {
	ix := &c.e.ix
	x.timer = c.arm(next.UnixMilli(), x.frame)
	ix.schedules[x.name], ix.scheduleOf[x.timer] = x, x
	c.batch.Set(tableKey(nil, appState, []byte(everyKey+x.name)), x.append(nil))
}

// unschedule removes x, with its timer if that is armed.
func (c *commit) unschedule(x *scheduled) {
	ix := &c.e.ix
	delete(ix.schedules, x.name)
	delete(ix.scheduleOf, x.timer)
	c.batch.Delete(tableKey(nil, appState, []byte(everyKey+x.name)))
	if frame, err := c.timerFrame(x.timer); err == nil {
		c.cancel(x.timer, frame)
	}
}

// runSchedule posts the message of x, whose timer is disarmed, and arms the next one.
func (c *commit) runSchedule(x *scheduled, now int64) {
	delete(c.e.ix.scheduleOf, x.timer)
	m, err := DecodeMessage(x.frame)
	if err != nil {
		return // it was checked before
	}
	due := min(x.timer.due, now)
	if waits, err := c.queued(c.e.ix.inbox(m.To), []byte(x.lastID)); x.lastID != "" && (waits || err != nil) {
		x.skipped++
	} else {
		x.last, x.lastID = due, x.name+"@"+time.UnixMilli(due).UTC().Format(time.RFC3339)
		m.ID = []byte(x.lastID)
		value := appendTimerKey(nil, x.timer)
		value, _ = m.Append(value) // cannot fail: the id has about the same length
		c.post(m.To, bandFired, value)
	}
	next := x.times.next(time.UnixMilli(due))
	if late := now - next.UnixMilli(); late >= 0 {
		next = x.times.next(time.UnixMilli(now))
		if every := x.times.every.Milliseconds(); every > 0 {
			next = time.UnixMilli(now - late%every + every)
		}
	}
	c.schedule(x, next)
}

// checkSchedules arms schedules anew whose time is too late by the present wall clock, if that
// has gone back: it may have been wrong when they were armed.
func (e *engine) checkSchedules(ctx context.Context, wall int64) error {
	if last := e.lastWall.Swap(wall); wall >= last-wallStep.Milliseconds() {
		return nil
	}
	e.ix.mu.Lock()
	n := len(e.ix.schedules)
	e.ix.mu.Unlock()
	if n == 0 {
		return nil
	}
	return e.do(ctx, func(c *commit) error {
		for _, x := range c.e.ix.schedules {
			if next := x.nextAt(wall); next.UnixMilli() < x.timer.due {
				delete(c.e.ix.scheduleOf, x.timer)
				c.disarm(x.timer)
				c.schedule(x, next)
			}
		}
		return nil
	})
}

// repeatedTime is how far a wall clock may be set back without a repetition of what was run in
// that time, as in cron(8).
const repeatedTime = 3 * time.Hour

// nextAt returns the time of x that follows when the wall clock shows wall (ms).
func (x *scheduled) nextAt(wall int64) time.Time {
	if x.times.every == 0 && x.last > wall && x.last-wall <= repeatedTime.Milliseconds() {
		wall = x.last
	}
	return x.times.next(time.UnixMilli(wall))
}

// loadSchedules reads the stored schedules.
func (e *engine) loadSchedules() error {
	e.ix.schedules, e.ix.scheduleOf = map[string]*scheduled{}, map[TimerID]*scheduled{}
	lo := tableKey(nil, appState, []byte(everyKey))
	hi := tableKey(nil, appState, []byte(everyKey))
	hi[len(hi)-1]++
	var bad error
	err := e.back.Scan(lo, hi, func(key, value []byte) bool {
		x, err := decodeScheduled(string(key[len(lo):]), value)
		if err != nil {
			bad = err
			return false
		}
		e.ix.schedules[x.name], e.ix.scheduleOf[x.timer] = x, x
		return true
	})
	return errors.Join(err, bad)
}

// tellUndeclared logs the schedules that an earlier program has declared and this one has not:
// they go on until DeleteSchedule.
func (r *Runner) tellUndeclared() {
	log := r.o.Sinks.Log
	for _, s := range r.Schedules() {
		if !s.Declared && log != nil {
			err := fmt.Errorf("schedule %q (%s) goes on, though this program does not declare it: delete it, "+
				"or declare it", s.Name, s.Schedule)
			log(LogEvent{Kind: LogUndeclared, ID: s.Name, Err: err})
		}
	}
}

// ScheduleInfo describes a schedule.
type ScheduleInfo struct {
	Name     string
	Schedule string
	Queue    string
	Next     time.Time
	// Last is the due time of the last message, zero before the first; LastID is its id, for
	// Runner.Message.
	Last   time.Time
	LastID string
	// Skipped counts the times at which the last message still waited or ran.
	Skipped uint64
	Payload []byte
	// Declared says that this process has called Every for it. Others were declared by an earlier
	// program.
	Declared bool
}

// Schedules returns all schedules, sorted by name.
func (r *Runner) Schedules() []ScheduleInfo {
	var out []ScheduleInfo
	ix := &r.engine().ix
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for _, x := range ix.schedules {
		s := ScheduleInfo{
			Name: x.name, Schedule: x.spec, Next: x.timer.Due(), Last: timeOf(x.last), LastID: x.lastID,
			Skipped: x.skipped,
		}
		if m, err := DecodeMessage(x.frame); err == nil {
			s.Payload = m.Payload
			if in := ix.inboxes[m.To]; in != nil {
				s.Queue = in.name
			}
		}
		out = append(out, s)
	}
	for i := range out {
		_, out[i].Declared = r.declared.Load(out[i].Name)
	}
	slices.SortFunc(out, func(a, b ScheduleInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// RunSchedule posts the message of a schedule now, unless the last one still waits or runs, or
// returns ErrNotFound. The next one is at the next time of the schedule.
func (r *Runner) RunSchedule(ctx context.Context, name string) error {
	return r.write(ctx, func(c *commit) error {
		x, err := c.scheduled(name)
		if err == nil {
			c.disarm(x.timer)
			c.runSchedule(x, c.e.wall())
		}
		return err
	})
}

func (c *commit) scheduled(name string) (*scheduled, error) {
	x := c.e.ix.schedules[name]
	if x == nil {
		return nil, fmt.Errorf("schedule %q: %w", strings.ToValidUTF8(name, "?"), ErrNotFound)
	}
	return x, nil
}

// DeleteSchedule ends a schedule, or returns ErrNotFound. Messages that it has posted stay.
func (r *Runner) DeleteSchedule(ctx context.Context, name string) error {
	return r.engine().do(ctx, func(c *commit) error {
		x, err := c.scheduled(name)
		if err == nil {
			c.unschedule(x)
		}
		return err
	})
}
