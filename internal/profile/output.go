package profile

import (
	"time"

	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
)

// Output is everything that follows from one step. Hand the same Output to each
// Step: it is emptied at the start, and its memory is used again. Everything in
// it is good until then.
type Output struct {
	// Packets are to be sent now, in this order.
	Packets link.Batch
	// Frames are to be put into the journal, in this order and as one group.
	Frames Frames
	// Gate is what the input Durable is to say when all frames of this step are
	// durable; 0 when nothing waits for them. It is always the last Gate plus
	// one.
	Gate uint64
	// Loads are questions to the store. Each is answered by one input Loaded.
	Loads []Load
	// Leases are numbers that are running out. Each is answered by one input
	// Leased.
	Leases []Lease
	// Finished are the games that ended in this step.
	Finished []*board.Finished
	// News is what the other profiles of the store are to be told when Gate, or the
	// last gate before, is durable.
	News []Change
	// Sights is what the shards with watchers are to be told then, too.
	Sights []Sight
	// Came is where new players have come from, if other shards are to count them.
	Came []session.Newcomer
	// Told is the answer to the input Ask, nil if the board is not here.
	Told *Told
	// Troubles are for the log: stored boards that are damaged.
	Troubles []error
	// Next is when Step must be called again at the latest; the zero time means
	// never. It may be earlier than there is work.
	Next time.Time
}

func (o *Output) reset() {
	o.Packets.Reset()
	o.Frames.reset()
	o.Gate = 0
	o.Loads = o.Loads[:0]
	o.Leases = o.Leases[:0]
	clear(o.Finished)
	o.Finished = o.Finished[:0]
	clear(o.News)
	o.News = o.News[:0]
	o.Sights = o.Sights[:0]
	o.Told, o.Came = nil, o.Came[:0]
	o.Troubles = o.Troubles[:0]
	o.Next = time.Time{}
}

// withdraw takes back what was decided: only packets are left.
func (o *Output) withdraw() {
	o.Frames.reset()
	o.Gate = 0
	o.Loads, o.Finished, o.News, o.Sights, o.Told = o.Loads[:0], o.Finished[:0], o.News[:0], o.Sights[:0], nil
}

// Frames are frames of intents (journal.Decode) in one buffer.
type Frames struct {
	bytes []byte
	ends  []int
}

// Len returns the number of frames.
func (f *Frames) Len() int { return len(f.ends) }

// At returns frame i.
func (f *Frames) At(i int) []byte {
	start := 0
	if i > 0 {
		start = f.ends[i-1]
	}
	return f.bytes[start:f.ends[i]:f.ends[i]]
}

// Bytes returns the bytes of all frames together.
func (f *Frames) Bytes() int { return len(f.bytes) }

func (f *Frames) reset() { f.bytes, f.ends = f.bytes[:0], f.ends[:0] }
