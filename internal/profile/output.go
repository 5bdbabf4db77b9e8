package profile

import (
	"time"

	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
)

// Output is everything that follows from one step. The caller passes the same Output to each Step, which
// empties it and reuses its memory. Its contents are valid until then.
type Output struct {
	// Packets are to be sent now, in this order.
	Packets link.Batch
	// Frames are to be written to the journal, in this order and as one group.
	Frames Frames
	// DurableIndex is the index that the input Durable reports when all frames of this step are durable; 0 if the
	// step made none. It is always the last one plus one.
	DurableIndex uint64
	// Loads are queries to the store. Each is answered by one input Loaded.
	Loads []Load
	// Leases ask for numbers that run out. Each is answered by one input Leased.
	Leases []Lease
	// Finished are the games that ended in this step.
	Finished []*board.Finished
	// StoreEvents goes to the other profiles of the store when DurableIndex, or the last one before, is durable.
	StoreEvents []StoreEvent
	// BoardViews goes to the shards with spectators at that time.
	BoardViews []BoardView
	// Newcomers is the addresses of new players, if other shards must count them.
	Newcomers []session.Newcomer
	// BoardReply is the answer to the input Ask; nil if the board is not here.
	BoardReply *BoardReply
	// Troubles are errors for the log, such as damaged stored boards.
	Troubles []error
	// Next is when Step must be called again at the latest; the zero time means never. There may be nothing
	// to do yet at that time.
	Next time.Time
}

func (o *Output) reset() {
	o.Packets.Reset()
	o.Frames.reset()
	o.DurableIndex = 0
	o.Loads = o.Loads[:0]
	o.Leases = o.Leases[:0]
	clear(o.Finished)
	o.Finished = o.Finished[:0]
	clear(o.StoreEvents)
	o.StoreEvents = o.StoreEvents[:0]
	o.BoardViews = o.BoardViews[:0]
	o.BoardReply, o.Newcomers = nil, o.Newcomers[:0]
	o.Troubles = o.Troubles[:0]
	o.Next = time.Time{}
}

// discardDecisions removes everything that was decided: only packets, leases and troubles stay.
func (o *Output) discardDecisions() {
	o.Frames.reset()
	o.DurableIndex = 0
	o.Loads, o.Finished = o.Loads[:0], o.Finished[:0]
	o.StoreEvents, o.BoardViews, o.BoardReply = o.StoreEvents[:0], o.BoardViews[:0], nil
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

// Bytes returns the size of all frames together.
func (f *Frames) Bytes() int { return len(f.bytes) }

func (f *Frames) reset() { f.bytes, f.ends = f.bytes[:0], f.ends[:0] }
