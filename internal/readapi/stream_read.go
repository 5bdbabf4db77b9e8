package readapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file has the reading side of a Stream: position, pages and encoding.

// place is a position in the events of one shard.
type place struct {
	seq  uint64 // number of a message
	past int    // how many of its events are before the position
}

func (p place) before(q place) bool { return p.seq < q.seq || p.seq == q.seq && p.past < q.past }

// position is a position in the stream: one place for each shard.
type position []place

// raise sets p to the maximum of p and q in each shard.
func (p position) raise(q position) {
	for i := range p {
		if p[i].before(q[i]) {
			p[i] = q[i]
		}
	}
}

// spot is a reader's state: the position after the last event received, and the number of the
// next event to look at.
type spot struct {
	at   position
	next uint64
}

// end returns the spot after the last event, if it is known. Waited says that the reader came
// before it was known: then it is the spot at which it became known.
func (s *Stream) end(waited bool) (spot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := make(position, len(s.parts)), s.parts != nil
	for i, p := range s.parts {
		if at[i] = p.end; waited {
			at[i] = p.start
		}
		known = known && p.known
	}
	return spot{at: at}, known
}

// streamPage is the most events of one read.
const streamPage = 256

// read returns a page of events after a spot, and moves the spot. Missed says that events
// after the spot are no longer kept; then the page begins at from. While a shard is idle, it
// returns nothing.
func (s *Stream) read(name string, to *spot) (page []event, from position, missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun() {
		return nil, nil, false
	}
	for i, p := range s.parts {
		if to.at[i].before(p.base) {
			to.at[i], missed = p.base, true
		}
	}
	if missed {
		from = slices.Clone(to.at)
	}
	i := int(max(to.next, s.first) - s.first)
	for ; i < len(s.events) && len(page) < streamPage; i++ {
		e := &s.events[i]
		if known := !to.at[e.shard].before(e.at[e.shard]); known {
			continue
		}
		to.at.raise(e.at)
		one := *e
		if !slices.Equal(to.at, e.at) { // another process sent the events in another order
			one.text = one.format(to.at.id(name))
		} else if e.text == nil {
			e.text = e.format(e.at.id(name))
			one.text = e.text
		}
		page = append(page, one)
	}
	if to.next = s.first + uint64(i); i == len(s.events) {
		to.at.raise(s.seen)
	}
	return page, from, missed
}

// format encodes an event as a server-sent event.
func (e *event) format(id string) []byte {
	kind, v := "move", any(e.happened.Move)
	if g := e.happened.Ended; g != nil {
		kind, v = "finished", Finish{g.Board, g.Winner, g.Reason, g.Plies, g.Seconds, g.Finished.UTC()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return []byte{}
	}
	return sse(nil, id, kind, data)
}

// sse appends one server-sent event, without an id if that is empty. Data must not have a
// line break.
func sse(dst []byte, id, kind string, data []byte) []byte {
	if id != "" {
		dst = fmt.Appendf(dst, "id: %s\n", id)
	}
	return fmt.Appendf(dst, "event: %s\ndata: %s\n\n", kind, data)
}

// id encodes a position in the stream of the journal with a name.
func (p position) id(name string) string {
	text := []byte(name)
	for _, at := range p {
		text = strconv.AppendUint(append(text, '-'), at.seq, 10)
		text = strconv.AppendInt(append(text, '-'), int64(at.past), 10)
	}
	return string(text)
}

// positionOf decodes an id. It returns nil for one of another journal, or of another number of
// shards.
func positionOf(id, name string, shards int) (p position, err error) {
	parts := strings.Split(id, "-")
	if len(parts) < 3 || len(parts)%2 == 0 || len(parts[0]) != 8 {
		return nil, badf("Last-Event-ID is the id of an event")
	}
	for i := 1; i < len(parts); i += 2 {
		seq, err := strconv.ParseUint(parts[i], 10, 63)
		past, err2 := strconv.ParseUint(parts[i+1], 10, 16)
		if err != nil || err2 != nil {
			return nil, badf("Last-Event-ID is the id of an event")
		}
		p = append(p, place{seq, int(past)})
	}
	if parts[0] != name || len(p) != shards {
		return nil, nil
	}
	return p, nil
}
