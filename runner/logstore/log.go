package logstore

import (
	"context"
	"errors"
	"iter"
)

// ErrFenced is returned when somebody else has claimed the log since: nothing was
// written.
var ErrFenced = errors.New("another holder has claimed the log")

// Holder is who claims a log.
type Holder struct {
	// Node names the machine or process, for people and for a log that lets only
	// one of several have it.
	Node string
	// Lost is called at most once, from any goroutine, when it is known that the
	// claim has ended before Release: it must return quickly.
	Lost func(error)
}

// Log is where records are durable. A log may have many names, each with records and
// a holder of its own.
type Log interface {
	// Claim makes h the holder of the records under a name, and ends every earlier
	// holder: nothing of it is written afterwards. A log may refuse a claim while
	// another holder lives.
	Claim(ctx context.Context, name string, h Holder) (Held, error)
	// Look is Held.Replay for somebody who does not hold the log, and changes
	// nothing. Of an empty one it visits nothing.
	Look(ctx context.Context, name string, visit func(seq uint64, record []byte) error) error
}

// Held is a log that was claimed. Append and Checkpoint may be called at the same
// time, each by one goroutine. After any of its errors the holder cannot know what
// was written, unless it is ErrFenced.
type Held interface {
	// Replay visits the records of the newest checkpoint, all with the number that it
	// goes through, and then those that were appended after that, in order. The
	// record is valid only during the call.
	Replay(ctx context.Context, visit func(seq uint64, record []byte) error) error
	// Seq is the number of the last record, also if a checkpoint stands for it.
	Seq() uint64
	// Append adds a record and returns its number, one more than that of the last,
	// when it is durable. The record is not kept.
	Append(ctx context.Context, record []byte) (seq uint64, err error)
	// Checkpoint replaces everything up to the number given by state, as a whole. A
	// record of state is valid until the next is asked for.
	Checkpoint(ctx context.Context, through uint64, state iter.Seq[[]byte]) error
	// Release ends the claim, so that the node named, or anybody if it is "", may
	// claim at once. If ctx has ended, nobody is told: the claim ends as that of a
	// holder who has died. Nothing is used afterwards.
	Release(ctx context.Context, to string) error
}
