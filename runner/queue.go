package runner

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A queue is an inbox with a name. Its number is assigned when the name is first used, and is
// stored:
//
//	runner.queue.NUMBER u64be    QUE0, flags u8 (1: paused), name
//
// Calls that take a queue as text also accept the number of an inbox in decimal digits, if no
// queue has it as its name.
const (
	queueKey   = "runner.queue." // followed by the number, u64be
	queueMagic = "QUE0"

	queuePaused = 0x01

	// firstNamed is the lowest number of a named queue: lower ones are for programs that choose
	// numbers themselves.
	firstNamed = 1 << 20
	// maxQueueName bounds the name of a queue, in bytes of UTF-8.
	maxQueueName = 128
)

// Queue returns the number of the queue with a name, and creates it if it does not exist. Its
// messages have a history, see Message.
func (r *Runner) Queue(ctx context.Context, name string) (uint64, error) {
	e := r.engine()
	if n, ok := e.named(name); ok {
		return n, nil
	}
	if len(name) == 0 || len(name) > maxQueueName {
		return 0, fmt.Errorf("a queue's name has 1 to %d bytes, this one %d: %w", maxQueueName, len(name), ErrInvalid)
	}
	if !utf8.ValidString(name) {
		return 0, fmt.Errorf("a queue's name is UTF-8, not %q: %w", name, ErrInvalid)
	}
	var n uint64
	err := r.write(ctx, func(c *commit) error {
		if in := c.e.ix.names[name]; in != nil {
			n = in.worker
			return nil
		}
		for n = firstNamed; c.e.ix.inboxes[n] != nil; n++ {
		}
		in := c.e.ix.inbox(n)
		c.e.ix.christen(in, name)
		c.storeQueue(in)
		return nil
	})
	return n, err
}

// christen sets the name of an inbox.
func (ix *index) christen(in *inbox, name string) {
	in.name, in.finished = name, finishedList{next: 1, numbers: map[[dedupeHashLen]byte]uint64{}}
	ix.names[name] = in
}

// named returns the number of the queue with a name, and whether it exists.
func (e *engine) named(name string) (uint64, bool) {
	e.ix.mu.Lock()
	defer e.ix.mu.Unlock()
	in := e.ix.names[name]
	if in == nil {
		return 0, false
	}
	return in.worker, true
}

// findQueue returns the number of a queue by name or by number in digits, or ErrNotFound for an
// unused name.
func (e *engine) findQueue(queue string) (uint64, error) {
	if n, ok := e.named(queue); ok {
		return n, nil
	}
	if n, err := strconv.ParseUint(queue, 10, 63); err == nil {
		return n, nil
	}
	return 0, fmt.Errorf("queue %q: %w", queue, ErrNotFound)
}

// QueueName returns the name of a queue, or its number in digits if it has no name.
func (r *Runner) QueueName(number uint64) string {
	ix := &r.engine().ix
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if in := ix.inboxes[number]; in != nil && in.name != "" {
		return in.name
	}
	return strconv.FormatUint(number, 10)
}

// PauseQueue stops the workers of a queue from running its messages until ResumeQueue, also
// after a restart. A running message is finished; other claimed messages are released. Posting
// continues. It returns ErrNotFound for an unused name.
func (r *Runner) PauseQueue(ctx context.Context, queue string) error {
	return r.setPaused(ctx, queue, true)
}

// ResumeQueue ends PauseQueue.
func (r *Runner) ResumeQueue(ctx context.Context, queue string) error {
	return r.setPaused(ctx, queue, false)
}

func (r *Runner) setPaused(ctx context.Context, queue string, paused bool) error {
	n, err := r.engine().findQueue(queue)
	if err != nil {
		return err
	}
	return r.engine().do(ctx, func(c *commit) error {
		in := c.e.ix.inbox(n)
		in.paused, in.freed = paused, true
		for _, w := range in.workers {
			w.paused.Store(paused)
		}
		c.touch(in)
		c.storeQueue(in)
		return nil
	})
}

// RunPaused sets whether a worker runs messages while its queue is paused, for a program that
// cannot continue before they are done.
func (w *Worker) RunPaused(on bool) {
	w.forced.Store(on)
	for _, lane := range w.lanes {
		lane.forced.Store(on)
	}
}

// held reports whether PauseQueue stops the worker.
func (w *Worker) held() bool { return w.paused.Load() && !w.forced.Load() }

func (c *commit) storeQueue(in *inbox) {
	c.key = append(append(c.key[:0], byte(appState)), queueKey...)
	c.key = binary.BigEndian.AppendUint64(c.key, in.worker)
	var flags byte
	if in.paused {
		flags = queuePaused
	}
	c.value = append(append(append(c.value[:0], queueMagic...), flags), in.name...)
	c.batch.Set(c.key, c.value)
}

// loadQueues reads the names and pauses of queues.
func (e *engine) loadQueues() error {
	lo := tableKey(nil, appState, []byte(queueKey))
	hi := tableKey(nil, appState, []byte(queueKey))
	hi[len(hi)-1]++
	var bad error
	err := e.back.Scan(lo, hi, func(key, value []byte) bool {
		if len(key) != len(lo)+8 || len(value) < 5 || string(value[:4]) != queueMagic {
			bad = badLength("queue", value)
			return false
		}
		in := e.ix.inbox(binary.BigEndian.Uint64(key[len(lo):]))
		in.paused = value[4]&queuePaused != 0
		if len(value) > 5 {
			e.ix.christen(in, string(value[5:]))
		}
		return true
	})
	return errors.Join(err, bad)
}
