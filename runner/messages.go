package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MessageState is the current state of a message.
type MessageState uint8

// The states.
const (
	Waiting   MessageState = iota // in its queue, to be run as soon as a worker is free
	Scheduled                     // its time has not come
	Active                        // a worker has it
	Retrying                      // it has failed, and waits for the next run
	Dead                          // it failed too often, or for good
	Done                          // it has succeeded
	Deleted                       // it was deleted by a call
)

var messageStates = [...]string{"waiting", "scheduled", "active", "retrying", "dead", "done", "deleted"}

func (s MessageState) String() string { return messageStates[s] }

// ParseMessageState is the inverse of String. Errors: ErrInvalid.
func ParseMessageState(s string) (MessageState, error) {
	i := slices.Index(messageStates[:], s)
	if i < 0 {
		return 0, fmt.Errorf("state %q: %w", s, ErrInvalid)
	}
	return MessageState(i), nil
}

// MessageInfo describes one message. Fields that come from the history are zero for messages of
// an inbox without a name.
type MessageInfo struct {
	Queue string // name, or number in decimal digits
	ID    string
	State MessageState
	// Row is the row in the inbox; for a Dead message that of the dead letter.
	Row Row
	// Number is the number of the message in its list, for the next page of Messages.
	Number uint64
	// Timer is set for a Scheduled message.
	Timer TimerID
	High  bool
	// Posted comes from the history. Due is when a Scheduled or Retrying message is run, Ended
	// when a Dead, Done or Deleted one reached that state.
	Posted, Due, Ended time.Time
	// Attempts is the number of deliveries, including a current one. Error is the error of the
	// last one.
	Attempts uint32
	Error    string
	// Payload is empty for a message that is done.
	Payload []byte
	// Result is the argument of Delivery.SetResult.
	Result []byte
	// Runs are the last ten deliveries that have ended.
	Runs []Run
}

// Run is a delivery that has ended.
type Run struct {
	Ended time.Time
	Took  time.Duration
	Error string // empty for success
}

// Message returns a message by its id, or ErrNotFound. In a queue without a history it searches
// all messages. If several have the id, it returns the one that was posted last.
func (r *Runner) Message(queue, id string) (MessageInfo, error) {
	var m MessageInfo
	err := r.view(func(e *engine, v View) error {
		n, err := e.findQueue(queue)
		if err != nil {
			return err
		}
		value, ok, err := v.Get(nil, historyKey(nil, n, dedupeHash([]byte(id))))
		if err != nil {
			return err
		}
		if !ok {
			m, err = r.search(n, id)
			return err
		}
		h, err := decodeRecord(value)
		if err != nil {
			return err
		}
		if err := e.addLastRun(v, n, dedupeHash([]byte(id)), &h); err != nil {
			return err
		}
		m, err = r.describe(v, n, &h)
		m.ID = id
		return err
	})
	return m, err
}

// addLastRun completes the record of a message that has succeeded.
func (e *engine) addLastRun(v Reader, queue uint64, hash [dedupeHashLen]byte, h *record) error {
	var n uint64
	e.ix.mu.Lock()
	if in := e.ix.inboxes[queue]; in != nil {
		n = in.finished.numbers[hash]
	}
	e.ix.mu.Unlock()
	if n == 0 {
		return nil
	}
	value, _, err := v.Get(nil, finishedKey(queue, n))
	h.complete(n, value)
	return err
}

// describe adds the stored message to a record.
func (r *Runner) describe(v Reader, queue uint64, h *record) (MessageInfo, error) {
	m := MessageInfo{Posted: timeOf(h.posted), Number: h.seq}
	switch h.place {
	case placeInbox:
		rows, err := r.Inbox(queue, h.seq, 1)
		if err != nil {
			return m, err
		}
		if len(rows) == 1 && rows[0].Seq == h.seq {
			m = r.inboxInfo(&rows[0])
		}
	case placeTimer:
		id := TimerID{h.due, h.seq}
		frame, _, err := v.Get(nil, appendTimerKey([]byte{byte(timerTable)}, id))
		if err != nil {
			return m, err
		}
		m = r.timerInfo(ArmedTimer{id, frame})
	case placeDead:
		d, err := r.DeadLetter(Row{queue, h.seq})
		if err != nil {
			return m, err
		}
		m = r.deadInfo(&d)
	case placeDone:
		m.State = Done
	case placeDeleted:
		m.State = Deleted
	}
	h.addTo(&m)
	m.Queue = r.QueueName(queue)
	return m, nil
}

// addTo adds the fields of the record to m.
func (h *record) addTo(m *MessageInfo) {
	m.ID, m.Posted, m.Result = string(h.id), timeOf(h.posted), h.result
	m.Attempts = max(m.Attempts, h.attempts)
	if h.ended != 0 {
		m.Ended = timeOf(h.ended)
	}
	for _, run := range h.runs {
		m.Runs = append(m.Runs, Run{timeOf(run.ended), run.took, run.err})
		m.Error = run.err
	}
}

func (r *Runner) inboxInfo(row *InboxRow) MessageInfo {
	m := MessageInfo{Row: row.Row, Number: row.Seq, High: row.High, Queue: r.QueueName(row.Worker)}
	m.fill(row.Frame)
	if row.Leased {
		m.Attempts = row.Lease.Attempts
		e := r.engine()
		h := holding{lease: lease{Owner: row.Lease.Owner, Deadline: row.Lease.Deadline.UnixMilli()}}
		e.ix.mu.Lock()
		runs := e.ix.runs(h, e.now())
		e.ix.mu.Unlock()
		switch {
		case runs:
			m.State = Active
		case h.Owner == 0 && h.Deadline >= e.now():
			m.State, m.Due = Retrying, row.Lease.Deadline
		}
	}
	return m
}

// runs reports whether a row is held: not by an ended process, nor by a worker that has lost
// it.
func (ix *index) runs(h holding, now int64) bool {
	return h.Owner != 0 && (h.Deadline >= now || ix.inHands(h))
}

func (c *commit) runs(h holding) bool { return c.e.ix.runs(h, c.now) }

func (r *Runner) timerInfo(t ArmedTimer) MessageInfo {
	m := MessageInfo{State: Scheduled, Timer: t.ID, Number: t.ID.Seq, Due: t.ID.Due()}
	m.fill(t.Frame)
	return m
}

func (r *Runner) deadInfo(d *DeadLetter) MessageInfo {
	m := MessageInfo{
		State: Dead, Row: d.Row, Number: d.Row.Seq, Ended: d.Time, Attempts: d.Attempts,
		Error: d.Reason, Queue: r.QueueName(d.Row.Worker),
	}
	m.fill(d.Frame)
	return m
}

// fill sets the fields that come from the frame; a frame that does not decode is the payload.
func (m *MessageInfo) fill(frame []byte) {
	msg, err := DecodeMessage(frame)
	if err != nil {
		m.Payload = frame
		return
	}
	m.ID, m.Payload = string(msg.ID), msg.Payload
}

// search searches for a message without a history.
func (r *Runner) search(queue uint64, id string) (MessageInfo, error) {
	var found *MessageInfo
	err := r.each(queue, Waiting, 0, func(m MessageInfo) bool {
		if m.ID == id {
			found = &m
		}
		return true
	})
	for _, state := range []MessageState{Scheduled, Dead} {
		if err != nil || found != nil {
			break
		}
		err = r.each(queue, state, 0, func(m MessageInfo) bool {
			if m.ID == id {
				found = &m
			}
			return true
		})
	}
	if err == nil && found == nil {
		return MessageInfo{}, fmt.Errorf("message %q in queue %s: %w", id, r.QueueName(queue), ErrNotFound)
	}
	if err != nil {
		return MessageInfo{}, err
	}
	return *found, nil
}

// Messages returns up to limit messages of a queue. State selects the list:
//
//	Waiting, Active, Retrying   the inbox, with all three states
//	Scheduled                   messages that wait for their time
//	Dead                        the dead letters
//	Done, Deleted               finished messages that are kept, with both states
//
// The next page begins at the last message's Number + 1. Scheduled messages are in the order of
// their time and have one page.
func (r *Runner) Messages(queue string, state MessageState, from uint64, limit int) ([]MessageInfo, error) {
	var out []MessageInfo
	n, err := r.engine().findQueue(queue)
	if err != nil || limit <= 0 {
		return nil, err
	}
	err = r.each(n, state, from, func(m MessageInfo) bool {
		out = append(out, m)
		return len(out) < limit
	})
	return out, err
}

// each visits the messages of a list, from number from on.
func (r *Runner) each(queue uint64, state MessageState, from uint64, visit func(MessageInfo) bool) error {
	switch state {
	case Scheduled:
		return r.eachTimer(queue, visit)
	case Dead:
		return r.EachDeadLetter(DeadFilter{Worker: queue, HasWorker: true}, Row{queue, from}, func(d DeadLetter) bool {
			return visit(r.deadInfo(&d))
		})
	case Done, Deleted:
		return r.eachFinished(queue, from, visit)
	}
	const page = 256
	for {
		rows, err := r.Inbox(queue, from, page)
		if err != nil {
			return err
		}
		for i := range rows {
			if !visit(r.inboxInfo(&rows[i])) {
				return nil
			}
		}
		if len(rows) < page {
			return nil
		}
		from = rows[page-1].Seq + 1
	}
}

func (r *Runner) eachTimer(queue uint64, visit func(MessageInfo) bool) error {
	return r.view(func(e *engine, v View) error {
		e.ix.mu.Lock()
		head := e.ix.timers
		e.ix.mu.Unlock()
		return scanTimers(v, head, func(id TimerID, frame []byte) bool {
			h, err := checkMessage(frame)
			if err != nil || h.to < 0 || uint64(h.to) != queue {
				return true
			}
			m := r.timerInfo(ArmedTimer{id, bytes.Clone(frame)})
			m.Queue = r.QueueName(queue)
			return visit(m)
		})
	})
}

func (r *Runner) eachFinished(queue, from uint64, visit func(MessageInfo) bool) error {
	return r.view(func(_ *engine, v View) error {
		lo, hi := inboxRange(finishedTable, queue, from)
		var failed error
		err := v.Scan(lo, hi, func(key, finished []byte) bool {
			row, err := decodeRowKey(key[1:])
			if err != nil || len(finished) < dedupeHashLen {
				return true
			}
			value, _, err := v.Get(nil, historyKey(nil, queue, [dedupeHashLen]byte(finished)))
			if err != nil {
				failed = err
				return false
			}
			h, err := decodeRecord(value)
			switch {
			case err == nil && h.complete(row.Seq, finished):
			case err == nil && h.place.finished() && h.seq == row.Seq:
			default: // the id was used again: only the last run is known
				last, ok := decodeFinished(finished)
				if !ok {
					return true
				}
				h = last
				h.seq = row.Seq
			}
			h.result = bytes.Clone(h.result) // it may be a part of the row
			m, err := r.describe(v, queue, &h)
			failed = err
			return err == nil && visit(m)
		})
		return errors.Join(err, failed)
	})
}

// RetryMessage makes a message run now: a dead letter goes back to the tail of its queue with a
// new budget, and a Retrying or Scheduled one stops waiting. It returns ErrLeased for an Active
// message, ErrNotFound for a finished one.
func (r *Runner) RetryMessage(ctx context.Context, queue, id string) error {
	return r.change(ctx, queue, id, func(c *commit, m *MessageInfo) error {
		switch m.State {
		case Dead:
			_, err := c.revive(m.Row)
			return err
		case Scheduled:
			frame, err := c.timerFrame(m.Timer)
			if err == nil {
				c.disarm(m.Timer)
				if x := c.e.ix.scheduleOf[m.Timer]; x != nil {
					c.runSchedule(x, c.e.wall())
				} else {
					c.deliverTimer(m.Timer, frame)
				}
			}
			return err
		case Waiting, Retrying:
			in, h, err := c.take(m.Row, c.runs)
			if err == nil {
				h.Owner, h.Deadline = 0, c.now-1
				in.park(m.Row.Seq, h)
				c.setLease(m.Row, h.lease)
				in.freed = true
			}
			return err
		}
		return m.refuse()
	})
}

// DeleteMessage removes a message that is not running: a waiting or scheduled one, or a dead
// letter. It returns ErrLeased for an Active message, ErrNotFound for a finished one.
func (r *Runner) DeleteMessage(ctx context.Context, queue, id string) error {
	return r.change(ctx, queue, id, func(c *commit, m *MessageInfo) error {
		switch m.State {
		case Dead:
			d, key, err := c.dead(m.Row)
			if err == nil {
				c.drop(&d, key)
			}
			return err
		case Scheduled:
			frame, err := c.timerFrame(m.Timer)
			if err == nil {
				c.cancel(m.Timer, frame)
			}
			return err
		case Waiting, Retrying:
			in, h, err := c.take(m.Row, c.runs)
			if err == nil {
				c.remove(in, m.Row.Seq, h.band)
				if in.tracked() {
					c.moved(in, []byte(m.ID), placeDeleted, 0, nil)
				}
			}
			return err
		}
		return m.refuse()
	})
}

func (m *MessageInfo) refuse() error {
	if m.State == Active {
		return fmt.Errorf("message %q of queue %s runs: %w", m.ID, m.Queue, ErrLeased)
	}
	return fmt.Errorf("message %q of queue %s is %s: %w", m.ID, m.Queue, m.State, ErrNotFound)
}

// change finds a message and changes it. If the message moves in between, it tries again.
func (r *Runner) change(ctx context.Context, queue, id string, f func(c *commit, m *MessageInfo) error) error {
	const tries = 3
	for try := 1; ; try++ {
		m, err := r.Message(queue, id)
		if err != nil {
			return err
		}
		err = r.engine().do(ctx, func(c *commit) error { return f(c, &m) })
		if try == tries || !errors.Is(err, ErrNotFound) || m.State >= Done {
			return err
		}
	}
}
