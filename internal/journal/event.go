package journal

import (
	"context"
	"fmt"
	"iter"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// Event is an event for observers: a move or the end of a game that the store has. Its id is the number
// of its message and its place in that.
type Event struct {
	Seq   uint64
	Place int
	Board wamble.BoardID
	At    time.Time

	// Of a move; Ply is 0 for the end of a game.
	Ply     int
	UCI     string
	Session wamble.SessionID
	FEN     string // after the move; "" if the message did not update the board

	// Of the end of a game.
	Winner, Reason string
	Plies          int
	Seconds        float64
}

// Observer receives what the store has got. Its methods are called on the drain's goroutine.
type Observer interface {
	// FeedGrown is called when the feed of finished games has grown.
	FeedGrown()
	// WantsEvents is given the last message that the store has, and reports whether anybody reads events.
	// Finding them costs as much as planning a batch.
	WantsEvents(through uint64) bool
	// Events is called with the events of the messages behind after up to through, once the store has them.
	// The list is valid during the call. When WantsEvents has just become true, the first call includes the
	// retained events before, which may repeat some.
	Events(after, through uint64, list []Event)
	// HoldEvents is called before the store gets messages up to until, the first of which with an event has it at
	// from. Events of other shards that are not older may follow them, and must wait until Events. At the start of
	// a drain from is zero, because the store may have the first messages already.
	HoldEvents(until uint64, from time.Time)
}

// maxRecentEvents is how many messages are read again, as far as they were kept, for a new observer, which
// may have observed before, perhaps another process.
const maxRecentEvents = 8192

// beginEvents prepares for events at the start of the drain.
func (d *Drain) beginEvents() {
	d.eventsBefore = max(d.eventsBefore, d.drained())
	if d.o.Observer != nil && d.count() > 0 {
		d.o.Observer.HoldEvents(d.eventsBefore+1, time.Time{})
	}
}

// checkObserver checks for observers between two batches, after the message before, and reports earlier events to
// a new one.
func (d *Drain) checkObserver(ctx context.Context, before uint64) {
	if first, list, come := d.observe(ctx, before); come {
		d.o.Observer.Events(first, d.eventsBefore, list)
	}
}

// observe checks for observers. If one has just come, it returns the events that it must get first: those
// behind the message first, up to d.eventsBefore.
func (d *Drain) observe(ctx context.Context, before uint64) (first uint64, list []Event, come bool) {
	d.eventsBefore = max(d.eventsBefore, before)
	if d.o.Observer == nil || !d.o.Observer.WantsEvents(d.eventsBefore) {
		d.observed = false
	} else if !d.observed {
		d.observed, come = true, true
		first, list = d.recentEvents(ctx, d.eventsBefore)
	}
	return first, list, come
}

// holdEvents makes events of other shards wait for those of a batch, if it has some. As soon as the store
// has the batch, another shard may take over boards of it.
func (d *Drain) holdEvents(queue []Message) {
	if d.o.Observer == nil || !d.observed {
		return
	}
	for i := range queue {
		if d.eventBuffer = queue[i].appendEvents(d.eventBuffer[:0], nil); len(d.eventBuffer) > 0 {
			d.o.Observer.HoldEvents(queue[len(queue)-1].Seq, d.eventBuffer[0].At)
			return
		}
	}
}

// publishEvents reports the events of a batch, each once, and to a new observer the earlier ones in the same call:
// another process may wait for this batch, and must not go on between the two. Without observers only the
// number is recorded.
func (d *Drain) publishEvents(ctx context.Context, run *run) error {
	queue := run.queue
	if len(queue) == 0 {
		return nil
	}
	before, last := queue[0].Seq-1, queue[len(queue)-1].Seq
	first, earlier, come := d.observe(ctx, before)
	if !d.observed {
		d.eventsBefore = max(d.eventsBefore, last)
		return nil
	}
	after, known := d.eventsBefore, 0
	d.eventBuffer = d.eventBuffer[:0]
	for i := range queue {
		m := &queue[i]
		if m.Seq <= after && !d.o.RememberEvents {
			continue
		}
		if d.eventBuffer = m.appendEvents(d.eventBuffer, run.refused); m.Seq <= after {
			known = len(d.eventBuffer)
		}
	}
	d.eventsBefore = max(d.eventsBefore, last)
	switch {
	case come:
		d.o.Observer.Events(first, d.eventsBefore, append(earlier, d.eventBuffer[known:]...))
	case d.eventsBefore > after:
		d.o.Observer.Events(after, d.eventsBefore, d.eventBuffer[known:])
	}
	if d.o.RememberEvents { // all events: an earlier attempt was not acknowledged
		return d.remember(run.b.Tx, before, last, d.eventBuffer)
	}
	return nil
}

// recentEvents returns the events behind the message first, up to last, as far as they were remembered or kept.
func (d *Drain) recentEvents(ctx context.Context, last uint64) (first uint64, list []Event) {
	if d.o.RememberEvents {
		if first, list, known, err := d.rememberedEvents(ctx, last); err != nil {
			d.trouble(fmt.Errorf("read the remembered events: %w", err))
		} else if known {
			return first, list
		}
	}
	at := uint64(0)
	first = last - min(last, maxRecentEvents)
	for seq, frame := range d.retainedAfter(first) {
		if seq > last {
			break
		}
		if seq != at+1 { // a hole: drop what was before it
			list, first = nil, seq-1
		}
		at = seq
		if m, err := MakeMessage(seq, frame); err == nil {
			list = m.appendEvents(list, nil)
		}
	}
	if at != last { // the end is missing, or nothing was kept
		list, first = nil, last
	}
	return first, list
}

func (d *Drain) retainedAfter(seq uint64) iter.Seq2[uint64, []byte] {
	if d.retained == nil {
		return func(func(uint64, []byte) bool) {}
	}
	return d.retained.after(seq)
}

// appendEvents appends the events of a message, except those that the store has refused.
func (m *Message) appendEvents(list []Event, refused map[Origin]bool) []Event {
	start := len(list)
	for place, r := range m.records() {
		switch r.row.Kind {
		case intent.KindRecordMove, intent.KindRecordGameResult:
		default:
			continue
		}
		in, err := r.intent(place)
		if err != nil || refused[Origin{m.Seq, place}] {
			continue
		}
		switch in := in.(type) {
		case *intent.RecordMove:
			list = append(list, Event{
				Seq: m.Seq, Place: place, Board: in.Board, At: in.At, Ply: in.Ply, UCI: in.UCI, Session: in.Session,
			})
		case *intent.RecordGameResult:
			list = append(list, Event{Seq: m.Seq, Place: place, Board: in.Board, At: in.At,
				Winner: winners[in.Result], Reason: in.Reason, Plies: in.Plies, Seconds: in.Duration.Seconds()})
		}
	}
	if len(list) > start {
		m.positions(list[start:])
	}
	return list
}

// positions adds to moves the position in which the same message leaves their boards.
func (m *Message) positions(list []Event) {
	for place, r := range m.records() {
		if r.row.Kind != intent.KindUpdateBoard {
			continue
		}
		for i := range list {
			if h := &list[i]; h.Ply > 0 && uint64(h.Board) == r.first() {
				if in, err := r.intent(place); err == nil {
					h.FEN = in.(*intent.UpdateBoard).FEN
				}
			}
		}
	}
}
