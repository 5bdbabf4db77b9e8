package runner

// LogKind says what a LogEvent is about.
type LogKind uint8

// The closed list of log events.
const (
	LogRetryable    LogKind = 0 // a delivery failed and is worth a retry
	LogNonRetryable LogKind = 1 // a delivery failed otherwise
	LogRequeued     LogKind = 2 // the message went back to the tail
	LogDeadLetter   LogKind = 3 // the message went to the dead letters
	LogWorkerError  LogKind = 4 // the worker itself met an error
	LogOverdue      LogKind = 5 // a handler did not end in WorkerOptions.Timeout, and still runs
)

var logKinds = [...]string{"retryable failure", "non-retryable failure", "requeued", "dead letter", "worker error", "overdue"}

func (k LogKind) String() string { return logKinds[k] }

// LogEvent is one line of a worker's life.
type LogEvent struct {
	Kind   LogKind
	Worker uint64
	// Seq is the row's or the timer's sequence number; 0 for LogWorkerError.
	Seq uint64
	// ID is the id of the message, which a retry keeps; empty for LogWorkerError and
	// for a frame that does not decode.
	ID string
	// Attempt counts the deliveries of the message, this one included.
	Attempt uint32
	// Err is the status: why.
	Err error
	// Detail is the number of attempts so far for LogRequeued and
	// LogDeadLetter (0 when the frame did not decode), for LogWorkerError the
	// messages processed in this tick, else 0.
	Detail uint64
}

// ReplayKind says what a ReplayEvent is about.
type ReplayKind uint8

// The closed list of replay events.
const (
	InboxAttempt ReplayKind = 0
	InboxResult  ReplayKind = 1
	TimerAttempt ReplayKind = 2
	TimerResult  ReplayKind = 3
	Requeued     ReplayKind = 4
	DeadLettered ReplayKind = 5
	// Acknowledged says that what the run did is committed, and Kept that an ordered
	// worker delivers the message again where it is. A run that is followed by
	// nothing with its own error did not count: it met a conflict, was interrupted,
	// or its row was lost.
	Acknowledged ReplayKind = 6
	Kept         ReplayKind = 7
)

var replayKinds = [...]string{"inbox attempt", "inbox result", "timer attempt", "timer result", "requeued", "dead letter", "acknowledged", "kept"}

func (k ReplayKind) String() string { return replayKinds[k] }

// ReplayEvent is one step of a run. Frame is valid only during the call: the
// runner uses its memory again at once, so copy what is to be kept.
type ReplayEvent struct {
	Kind   ReplayKind
	Worker uint64
	// Seq is the row's sequence number; in timer events, the timer's.
	Seq uint64
	// Err is the step's result; nil in attempts.
	Err   error
	Frame []byte
	// The rest is as the handler sees it in its Delivery.
	Row       Row
	Attempts  uint32
	Timer     TimerID
	FromTimer bool
}
