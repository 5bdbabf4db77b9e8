package logstore

import (
	"context"
	"errors"
	"iter"
)

// ErrFenced is returned if another holder has claimed the log since: nothing was written.
var ErrFenced = errors.New("another holder has claimed the log")

// Holder is the claimant of a log.
type Holder struct {
	// Node is the name of the machine or process, for messages and for logs that allow only one
	// of several nodes.
	Node string
	// Lost is called at most once, from any goroutine, when the claim is known to have ended
	// before Release. It must return quickly.
	Lost func(error)
}

// Log is a durable store of records. It may have many names, each with its own records and
// holder.
type Log interface {
	// Claim makes h the holder of the records under a name, and ends every earlier claim:
	// earlier holders can write nothing afterwards. A log may refuse a claim while another
	// holder is alive.
	Claim(ctx context.Context, name string, h Holder) (Held, error)
	// Look is Held.Replay without a claim; it changes nothing. For an empty log it visits
	// nothing.
	Look(ctx context.Context, name string, visit func(seq uint64, record []byte) error) error
}

// Held is a claimed log. Append and Checkpoint may be called at the same time, each by one
// goroutine. After any error but ErrFenced it is unknown what was written.
type Held interface {
	// Replay visits the records of the newest checkpoint, all with the number of the last
	// record that it covers, and then the records appended after that, in order. The record is
	// valid only during the call.
	Replay(ctx context.Context, visit func(seq uint64, record []byte) error) error
	// Seq returns the number of the last record, also if a checkpoint covers it.
	Seq() uint64
	// Append adds a record and returns its number, one more than that of the last, when it is
	// durable. It does not keep the record.
	Append(ctx context.Context, record []byte) (seq uint64, err error)
	// Checkpoint atomically replaces everything up to number through by the records of state. A
	// record of state is valid until the next is requested.
	Checkpoint(ctx context.Context, through uint64, state iter.Seq[[]byte]) error
	// Release ends the claim, so that node to, or any node if it is "", can claim at once. If
	// ctx has ended, nothing is written: the claim then ends like that of a dead holder. h must
	// not be used afterwards.
	Release(ctx context.Context, to string) error
}
