package client

import (
	"context"
	"sync"
)

// queue passes values from the client's loop to a reader. The loop never blocks: if the queue
// is full, the oldest value is dropped.
type queue[T any] struct {
	mu      sync.Mutex
	values  []T
	max     int
	dropped uint64
	err     error         // error at the end of the queue
	changed chan struct{} // closed and replaced at every change
}

func newQueue[T any](max int) *queue[T] {
	return &queue[T]{max: max, changed: make(chan struct{})}
}

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return
	}
	if len(q.values) == q.max {
		q.values = append(q.values[:0], q.values[1:]...)
		q.dropped++
	}
	q.values = append(q.values, v)
	q.wake()
}

// end ends the queue. Queued values can still be read.
func (q *queue[T]) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
		q.wake()
	}
}

func (q *queue[T]) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// next waits for a value.
func (q *queue[T]) next(ctx context.Context) (T, error) {
	var none T
	for {
		q.mu.Lock()
		if len(q.values) > 0 {
			v := q.values[0]
			q.values = append(q.values[:0], q.values[1:]...)
			q.mu.Unlock()
			return v, nil
		}
		err, changed := q.err, q.changed
		q.mu.Unlock()
		if err != nil {
			return none, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}

func (q *queue[T]) lost() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}
