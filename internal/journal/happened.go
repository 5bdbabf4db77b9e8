package journal

import (
	"context"
	"fmt"
	"iter"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// Happened is a move or the end of a game that the store has: what observers are
// told. Its number is that of its message and its place in it.
type Happened struct {
	Seq   uint64
	Place int
	Board wamble.BoardID
	At    time.Time

	// Of a move; Ply is 0 when the game has ended.
	Ply     int
	UCI     string
	Session wamble.SessionID
	FEN     string // after the move; "" when the board was not written with it

	// Of a game that has ended.
	Winner, Reason string
	Plies          int
	Seconds        float64
}

// recallMessages is how many messages a drain reads again, as far as they were kept, when
// somebody begins to observe: he may have observed before, perhaps an earlier process.
const recallMessages = 8192

// listen looks whether anybody observes, between two batches, after the message before.
// Who has just come is told what happened last.
func (d *Drain) listen(ctx context.Context, before uint64) {
	if first, list, come := d.attend(ctx, before); come {
		d.o.Happened(first, d.told, list)
	}
}

// attend looks whether anybody observes. If somebody has just come, it returns what he is to
// be told first: what happened behind the message first up to the last one that was told.
func (d *Drain) attend(ctx context.Context, before uint64) (first uint64, list []Happened, come bool) {
	d.told = max(d.told, before)
	if d.o.Happened == nil || d.o.Observed != nil && !d.o.Observed(d.told) {
		d.telling = false
	} else if !d.telling {
		d.telling, come = true, true
		first, list = d.recall(ctx, d.told)
	}
	return first, list, come
}

// tell tells observers what happened in the messages of a batch, each once, and who has just
// come what happened before, at once: others may wait for this batch, and must not go on
// between the two. Of what nobody observes only the number is looked at.
func (d *Drain) tell(ctx context.Context, run *run) error {
	queue := run.queue
	if len(queue) == 0 {
		return nil
	}
	before, last := queue[0].Seq-1, queue[len(queue)-1].Seq
	first, earlier, come := d.attend(ctx, before)
	if !d.telling {
		d.told = max(d.told, last)
		return nil
	}
	after, known := d.told, 0
	d.happened = d.happened[:0]
	for i := range queue {
		m := &queue[i]
		if m.Seq <= after && !d.o.Remember {
			continue
		}
		if d.happened = m.happened(d.happened, run.refused); m.Seq <= after {
			known = len(d.happened)
		}
	}
	d.told = max(d.told, last)
	switch {
	case come:
		d.o.Happened(first, d.told, append(earlier, d.happened[known:]...))
	case d.told > after:
		d.o.Happened(after, d.told, d.happened[known:])
	}
	if d.o.Remember { // all of it: an earlier attempt was not acknowledged
		return d.remember(run.b.Tx, before, last, d.happened)
	}
	return nil
}

// recall returns what happened behind the message first up to the last, as far as it was
// remembered or kept.
func (d *Drain) recall(ctx context.Context, last uint64) (first uint64, list []Happened) {
	if d.o.Remember {
		if first, list, known, err := d.recollect(ctx, last); err != nil {
			d.trouble(fmt.Errorf("read what observers were told: %w", err))
		} else if known {
			return first, list
		}
	}
	at := uint64(0)
	first = last - min(last, recallMessages)
	for seq, frame := range d.keptAfter(first) {
		if seq > last {
			break
		}
		if seq != at+1 { // a hole: what was before it is of no use
			list, first = nil, seq-1
		}
		at = seq
		if m, err := MakeMessage(seq, frame); err == nil {
			list = m.happened(list, nil)
		}
	}
	if at != last { // the end is missing, or nothing was kept
		list, first = nil, last
	}
	return first, list
}

func (d *Drain) keptAfter(seq uint64) iter.Seq2[uint64, []byte] {
	if d.kept == nil {
		return func(func(uint64, []byte) bool) {}
	}
	return d.kept.after(seq)
}

// happened appends what observers are told of a message, but for what the store has
// refused.
func (m *Message) happened(list []Happened, refused map[Origin]bool) []Happened {
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
			list = append(list, Happened{Seq: m.Seq, Place: place, Board: in.Board, At: in.At, Ply: in.Ply, UCI: in.UCI, Session: in.Session})
		case *intent.RecordGameResult:
			list = append(list, Happened{Seq: m.Seq, Place: place, Board: in.Board, At: in.At,
				Winner: winners[in.Result], Reason: in.Reason, Plies: in.Plies, Seconds: in.Duration.Seconds()})
		}
	}
	if len(list) > start {
		m.positions(list[start:])
	}
	return list
}

// positions adds to moves the position that the same message leaves on their boards.
func (m *Message) positions(list []Happened) {
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
