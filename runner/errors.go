package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// The errors that callers branch on. Each is returned wrapped with context, so compare with
// errors.Is.
var (
	// ErrTruncated is returned when a frame is shorter than its header or its declared length.
	ErrTruncated = errors.New("frame is cut off")
	// ErrFormat is returned when a frame or a stored value breaks its layout.
	ErrFormat = errors.New("malformed")
	// ErrVersion is returned when a frame declares a version other than 0.0.
	ErrVersion = errors.New("unknown frame version")
	// ErrInvalid is returned for an invalid argument: an empty message id, a trace without its
	// flag, a reserved key.
	ErrInvalid = errors.New("invalid argument")
	// ErrTooLarge is returned when a frame, key or value exceeds its bound.
	ErrTooLarge = errors.New("too large")

	// ErrNotFound is returned when a row, timer, dead letter or marker does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned by an insert at a number that is or was used, and for a unique
	// message whose id waits or runs.
	ErrExists = errors.New("exists already")
	// ErrConflict is returned when something that a transaction has read has changed since.
	ErrConflict = errors.New("conflict: what was read has changed")
	// ErrLeaseLost is returned when a lease token differs from the stored one: another claimant
	// has taken the row. Nothing was applied.
	ErrLeaseLost = errors.New("the lease was lost")
	// ErrLeased is returned by a claim of a row that is held.
	ErrLeased = errors.New("the row is leased")
	// ErrMisrouted is returned when a frame names another worker.
	ErrMisrouted = errors.New("message is for another worker")
	// ErrNesting is returned when a transaction is used or committed while a nested one is
	// open, or after its end.
	ErrNesting = errors.New("transaction is ended or has an open child")

	// ErrOver is returned when a transaction is used after its handler or function has returned.
	// Nothing was read or written.
	ErrOver = errors.New("the transaction is over")

	// ErrSchema is returned when the stored schema marker is unreadable, or names a version
	// that this program cannot use.
	ErrSchema = errors.New("schema version does not fit")
	// ErrNoSchema is returned when a storage has no schema marker and Options.Create is not
	// set.
	ErrNoSchema = errors.New("no schema marker")
	// ErrLocked is returned when another process, or another runner of this process, has the
	// storage open.
	ErrLocked = errors.New("the storage is in use")
	// ErrDamaged is returned when a file of the storage does not have what was written to it, or
	// acknowledged writes are missing. Nothing was changed; what was committed before the damaged
	// place can be salvaged, see also Options.AcceptLoss.
	ErrDamaged = errors.New("the storage is damaged")
	// ErrReadOnly is returned by every change of a runner that was opened with
	// OpenReadOnly.
	ErrReadOnly = errors.New("opened for reading only")
	// ErrStopped is returned when the runner or the worker is stopped.
	ErrStopped = errors.New("stopped")
	// ErrStarted is returned when a worker is started twice.
	ErrStarted = errors.New("started already")
	// ErrBusy is returned when more bytes than Options.MaxQueued wait for the committer, or an
	// ordered inbox already has a worker.
	ErrBusy = errors.New("busy")
	// ErrDraining is returned by a post to a queue that DrainQueue drains.
	ErrDraining = errors.New("the queue takes nothing new")
	// ErrNoSpace is returned when the free space is below Options.MinFree. Acknowledgements are
	// still accepted, because they make room.
	ErrNoSpace = errors.New("free space is below the watermark")
	// ErrFailed is returned after a failure of the storage. Nothing is acknowledged until
	// Reopen.
	ErrFailed = errors.New("the runner has failed")
)

// retryError and discardError are the outcomes that a handler can request.
type retryError struct {
	err   error
	after time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// spentError is the failure of a job that may not be run once more.
type spentError struct{ err error }

func (e *spentError) Error() string { return e.err.Error() }
func (e *spentError) Unwrap() error { return e.err }

type discardError struct{ err error }

func (e *discardError) Error() string { return e.err.Error() }
func (e *discardError) Unwrap() error { return e.err }

// Retry marks err as transient: the message is delivered again after at least after. In an
// ordinary worker the delivery spends budget like every failure; an ordered worker waits with
// the batch claimed and spends none. A nil err gets a default text.
func Retry(err error, after time.Duration) error {
	if err == nil {
		err = errors.New("asked to retry")
	}
	return &retryError{err: err, after: max(after, 0)}
}

// Discard marks err as permanent: the message becomes a dead letter at once, regardless of its
// budget.
func Discard(err error) error {
	if err == nil {
		err = errors.New("discarded")
	}
	return &discardError{err: err}
}

// PanicError is the error of a handler that panicked. A runner that has failed because of a
// panic of its own wraps one too.
type PanicError struct {
	Value any    // argument of panic
	Stack []byte // as printed by debug.Stack

	engine bool // the panic was in the engine, not in a handler
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
