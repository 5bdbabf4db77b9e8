package runner

// LogKind is the kind of a LogEvent.
type LogKind uint8

// The log events.
const (
	LogRetryable    LogKind = 0 // a delivery failed and is retried
	LogNonRetryable LogKind = 1 // a delivery failed otherwise
	LogRequeued     LogKind = 2 // the message went back to the tail
	LogDeadLetter   LogKind = 3 // the message went to the dead letters
	LogWorkerError  LogKind = 4 // an error of the worker itself
	LogOverdue      LogKind = 5 // a handler exceeded WorkerOptions.Timeout and still runs
	LogLoss         LogKind = 6 // acknowledged writes were missing when the storage was opened
	LogUndeclared   LogKind = 7 // a schedule is stored that this program does not declare, see Run
)

var logKinds = [...]string{"retryable failure", "non-retryable failure", "requeued", "dead letter", "worker error",
	"overdue", "loss", "undeclared schedule"}

func (k LogKind) String() string { return logKinds[k] }

// LogEvent is an event of a worker.
type LogEvent struct {
	Kind   LogKind
	Worker uint64
	// Seq is the sequence number of the row or timer; 0 for LogWorkerError.
	Seq uint64
	// ID is the id of the message, which a retry keeps; empty for LogWorkerError and for a
	// frame that does not decode; the name of the schedule for LogUndeclared.
	ID string
	// Attempt is the number of deliveries of the message so far, including this one.
	Attempt uint32
	// Err is the reason.
	Err error
	// Detail is the number of attempts for LogRequeued and LogDeadLetter (0 if the frame did
	// not decode), the messages processed in this tick for LogWorkerError, the missing writes for
	// LogLoss, else 0.
	Detail uint64
}

// ReplayKind is the kind of a ReplayEvent.
type ReplayKind uint8

// The replay events.
const (
	InboxAttempt ReplayKind = 0
	InboxResult  ReplayKind = 1
	TimerAttempt ReplayKind = 2
	TimerResult  ReplayKind = 3
	Requeued     ReplayKind = 4
	DeadLettered ReplayKind = 5
	// Acknowledged says that the effects of the run are committed.
	Acknowledged ReplayKind = 6
)

var replayKinds = [...]string{"inbox attempt", "inbox result", "timer attempt", "timer result", "requeued",
	"dead letter", "acknowledged"}

func (k ReplayKind) String() string { return replayKinds[k] }

// ReplayEvent is one step of a run. Frame is valid only during the call.
type ReplayEvent struct {
	Kind   ReplayKind
	Worker uint64
	// Seq is the sequence number of the row; in timer events that of the timer.
	Seq uint64
	// Err is the result of the step; nil in attempts.
	Err   error
	Frame []byte
}
