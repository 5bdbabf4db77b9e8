package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// The errors a caller branches on. Each is returned wrapped with context, so
// compare with errors.Is.
var (
	// ErrTruncated is returned when a frame is shorter than its header or than
	// the length it declares.
	ErrTruncated = errors.New("frame is cut off")
	// ErrFormat is returned when a frame or a stored value breaks its layout.
	ErrFormat = errors.New("malformed")
	// ErrVersion is returned when a frame declares a version other than 0.0.
	ErrVersion = errors.New("unknown frame version")
	// ErrInvalid is returned when an argument breaks a rule of its own: an
	// empty message id, a trace without its flag, a reserved key.
	ErrInvalid = errors.New("invalid argument")
	// ErrTooLarge is returned when a frame, key or value is over its bound.
	ErrTooLarge = errors.New("too large")

	// ErrNotFound is returned when the row, timer, dead letter or marker named
	// does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when an insert meets a number that is or was used, and
	// when a message is unique and its id waits or runs.
	ErrExists = errors.New("exists already")
	// ErrConflict is returned when what a transaction read has changed since.
	ErrConflict = errors.New("conflict: what was read has changed")
	// ErrLeaseLost is returned when the lease token presented is not the one
	// stored: another claimant took the row over. Nothing was applied.
	ErrLeaseLost = errors.New("the lease was lost")
	// ErrLeased is returned when a row is claimed that somebody else holds.
	ErrLeased = errors.New("the row is leased")
	// ErrMisrouted is returned when a frame names another worker.
	ErrMisrouted = errors.New("message is for another worker")
	// ErrNesting is returned when a transaction is used or committed while a
	// nested one is open, or after it was ended.
	ErrNesting = errors.New("transaction is ended or has an open child")

	// ErrSchema is returned when the stored schema marker is unreadable or
	// names a version this program does not serve, and cannot go on with either.
	ErrSchema = errors.New("schema version does not fit")
	// ErrNoSchema is returned when a storage has no schema marker and
	// Options.Create is off.
	ErrNoSchema = errors.New("no schema marker")
	// ErrLocked is returned when another process, or another runner of this
	// one, has the storage open.
	ErrLocked = errors.New("the storage is in use")
	// ErrDamaged is returned when a file of the storage does not hold what was
	// written to it. Nothing was changed; what was committed before the damaged
	// place can be salvaged.
	ErrDamaged = errors.New("the storage is damaged")
	// ErrReadOnly is returned by every change of a runner that was opened with
	// OpenReadOnly.
	ErrReadOnly = errors.New("opened for reading only")
	// ErrStopped is returned when the runner or the worker was stopped.
	ErrStopped = errors.New("stopped")
	// ErrStarted is returned when a worker is started twice.
	ErrStarted = errors.New("started already")
	// ErrBusy is returned when more bytes wait for the committer than
	// Options.MaxQueued allows, or an ordered inbox has its worker already.
	ErrBusy = errors.New("busy")
	// ErrDraining is returned when something is posted to a queue that DrainQueue
	// lets run empty.
	ErrDraining = errors.New("the queue takes nothing new")
	// ErrNoSpace is returned when the free space is below Options.MinFree.
	// Acknowledgements still pass, because they make room.
	ErrNoSpace = errors.New("free space is below the watermark")
	// ErrFailed is returned once storage has failed. Nothing is acknowledged
	// any more; Reopen is the only way back.
	ErrFailed = errors.New("the runner has failed")
)

// A retryError and a discardError are the two outcomes that a handler can ask
// for by name.
type retryError struct {
	err   error
	after time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

type discardError struct{ err error }

func (e *discardError) Error() string { return e.err.Error() }
func (e *discardError) Unwrap() error { return e.err }

// Retry marks err as transient: the message is delivered again, not before
// after has passed. In an ordinary worker the delivery spends budget as every
// failed one does; an ordered worker pauses with the batch claimed and spends
// none. A nil err is given a text of its own.
func Retry(err error, after time.Duration) error {
	if err == nil {
		err = errors.New("asked to retry")
	}
	return &retryError{err: err, after: max(after, 0)}
}

// Discard marks err as permanent: the message goes to the dead letters now,
// whatever budget it has left.
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded")
	}
	return &discardError{err: err}
}

// PanicError is the error of a handler that panicked. A runner that has failed by a
// panic of its own wraps one, too.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // where, as debug.Stack prints it

	engine bool // it was no handler
}

func newEnginePanic(v any) *PanicError {
	return &PanicError{Value: v, Stack: debug.Stack(), engine: true}
}

func (e *PanicError) Error() string {
	who := "handler"
	if e.engine {
		who = "the runner"
	}
	return fmt.Sprintf("%s panicked: %v", who, e.Value)
}
