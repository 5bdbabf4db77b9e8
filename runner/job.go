package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Codec converts values to payloads and back.
type Codec interface {
	Encode(v any) ([]byte, error)
	// Decode decodes b into v, a pointer.
	Decode(b []byte, v any) error
}

// JSON is the default codec.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error) { return json.Marshal(v) }
func (jsonCodec) Decode(b []byte, v any) error { return json.Unmarshal(b, v) }

// Job is a message with a T that is delivered to a handler.
type Job[T any] struct {
	*Delivery
	// Tx is committed with the acknowledgement.
	Tx   *Tx
	Args T

	codec Codec
}

// SetResult keeps v as the result of the job, see MessageInfo.Result.
func (j *Job[T]) SetResult(v any) error {
	b, err := j.codec.Encode(v)
	if err != nil {
		return err
	}
	return j.Delivery.SetResult(b)
}

// Queue is a named queue whose messages carry a T.
type Queue[T any] struct {
	r      *Runner
	name   string
	worker *Worker
}

// NewQueue returns the queue with a name, for posting. It creates the queue if it does not
// exist.
func NewQueue[T any](r *Runner, name string) (*Queue[T], error) {
	_, err := r.Queue(context.Background(), name)
	return &Queue[T]{r: r, name: name}, err
}

// Handle adds a worker to the queue with a name. The error of h is the outcome of the job, as for a
// Handler. The worker runs when it is started, by Runner.Run or
// Worker.Start. A message whose payload does not decode becomes a dead letter. Handler and
// Batch of o must not be set.
//
// Where neither Options.Policy nor o.Policy says otherwise, a job is run up to 25 times over
// about five hours: RetryBudget is 25, RetryDelayMax 30 min. If T has a method Attempts() int or
// Timeout() time.Duration, its results above 0 are the bounds for that job, within those of the
// worker.
func Handle[T any](r *Runner, name string, h func(ctx context.Context, j *Job[T]) error, o WorkerOptions) (*Queue[T], error) {
	number, err := r.Queue(context.Background(), name)
	if err != nil {
		return nil, err
	}
	if h == nil || o.Handler != nil || o.Batch != nil {
		return nil, fmt.Errorf("queue %q needs one handler: %w", name, ErrInvalid)
	}
	codec := r.o.Codec
	o.Handler = func(ctx context.Context, tx *Tx, d *Delivery) error {
		j := Job[T]{Delivery: d, Tx: tx, codec: codec}
		if err := codec.Decode(d.Payload, &j.Args); err != nil {
			return Discard(fmt.Errorf("payload: %w", err))
		}
		limits, limited := any(&j.Args), ctx
		if v := reflect.ValueOf(j.Args); v.Kind() == reflect.Pointer && !v.IsNil() {
			limits = j.Args
		}
		if t, ok := limits.(interface{ Timeout() time.Duration }); ok && t.Timeout() > 0 {
			var cancel context.CancelFunc
			limited, cancel = context.WithTimeoutCause(ctx, t.Timeout(), errTimeout)
			defer cancel()
		}
		a, ok := limits.(interface{ Attempts() int })
		if !ok {
			return h(limited, &j)
		}
		err := guard(func() error { return h(limited, &j) })
		interrupted := ctx.Err() != nil && context.Cause(ctx) != errTimeout
		if n := a.Attempts(); err != nil && n > 0 && int(d.Attempts) >= n && !interrupted && !errors.Is(err, ErrNoSpace) {
			err = &spentError{err}
		}
		return err
	}
	p := r.o.ownPolicy
	if o.Policy != nil {
		p = *o.Policy
	}
	set(&p.RetryBudget, 25)
	set(&p.RetryDelayMax, 30*time.Minute)
	o.Policy = &p
	w, err := r.NewWorker(number, o)
	return &Queue[T]{r: r, name: name, worker: w}, err
}

// Worker returns the worker that Handle has added; nil for a queue of NewQueue.
func (q *Queue[T]) Worker() *Worker { return q.worker }

// PostOption is an option of a post.
type PostOption func(*Message)

// After delivers the job after d.
func After(d time.Duration) PostOption { return func(m *Message) { m.after = d } }

// At delivers the job at t.
func At(t time.Time) PostOption { return func(m *Message) { m.At = t } }

// Urgent delivers the job before others.
func Urgent() PostOption { return func(m *Message) { m.Flags |= HighPriority } }

// ID sets the id of the job. The default is a random id.
func ID(id string) PostOption { return func(m *Message) { m.ID = []byte(id) } }

// Unique sets the id of the job, and prevents posting while a job with that id waits or runs.
func Unique(id string) PostOption {
	return func(m *Message) { m.ID, m.Unique = []byte(id), true }
}

// Once sets the id of the job, and prevents running it if a job with that id was completed
// within Policy.DedupeFor.
func Once(id string) PostOption {
	return func(m *Message) { m.ID, m.Flags = []byte(id), m.Flags|Dedupe }
}

// Message returns a message that carries v, for Post, Tx.Send, Tx.Arm and Every.
func (q *Queue[T]) Message(v T, opts ...PostOption) (*Message, error) {
	b, err := q.r.o.Codec.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("payload for queue %q: %w", q.name, err)
	}
	m := &Message{Queue: q.name, Payload: b}
	for _, opt := range opts {
		opt(m)
	}
	if m.after > 0 {
		m.At = q.r.Now().Add(m.after)
	}
	return m, nil
}

// Post posts a job and returns its id when it is durable. With ErrExists, for a Unique job that
// already waits or runs, it also returns the id.
func (q *Queue[T]) Post(ctx context.Context, v T, opts ...PostOption) (id string, err error) {
	m, err := q.Message(v, opts...)
	if err != nil {
		return "", err
	}
	_, err = q.r.Post(ctx, m)
	return string(m.ID), err
}

// Send posts a job when tx commits.
func (q *Queue[T]) Send(tx *Tx, v T, opts ...PostOption) error {
	m, err := q.Message(v, opts...)
	if err != nil {
		return err
	}
	return tx.Send(m)
}

// Shutdown is Close, but the contexts of running handlers end with ctx, if that is before the end
// of their grace period.
func (r *Runner) Shutdown(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		_ = guard(func() error {
			for _, w := range r.allWorkers() {
				w.endGrace()
			}
			return nil
		})
	})
	defer stop()
	return r.Close()
}

// Run starts all workers, and returns when ctx ends or the storage fails. It then stops the
// workers, each with its grace period, and closes the runner.
func (r *Runner) Run(ctx context.Context) error {
	r.tellUndeclared()
	for _, w := range r.allWorkers() {
		if err := w.Start(ctx); err != nil && !errors.Is(err, ErrStarted) {
			return err
		}
	}
	for {
		e := r.engine()
		select {
		case <-ctx.Done():
			return r.Close()
		case <-e.failedCh:
			return errors.Join(e.failure(), r.Close())
		case <-e.replaced: // closed by Reopen or Restore
		}
	}
}
