package readapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// How observers read a Stream: where one is, what he gets next, and its bytes.

// place is a place in what happens in one shard: behind so many happenings of a message.
type place struct {
	seq  uint64
	past int
}

func (p place) before(q place) bool { return p.seq < q.seq || p.seq == q.seq && p.past < q.past }

// places is a place in the stream: one of each shard.
type places []place

// raise moves p up to q in each shard where that is further.
func (p places) raise(q places) {
	for i := range p {
		if p[i].before(q[i]) {
			p[i] = q[i]
		}
	}
}

// spot is where a reader is: what he has got, and the number of the event that he looks
// at next.
type spot struct {
	at   places
	next uint64
}

// end is the spot behind everything, if that is known yet. Who has waited for that
// begins behind what was there when he came.
func (s *Stream) end(waited bool) (spot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := make(places, len(s.parts)), s.parts != nil
	for i, p := range s.parts {
		if at[i] = p.end; waited {
			at[i] = p.start
		}
		known = known && p.known
	}
	return spot{at: at}, known
}

// streamPage is how many events an observer takes at once.
const streamPage = 256

// read returns what happened behind a spot, a page at most, and moves the spot. Missed
// says that something behind it is gone; then the page begins with the oldest, behind
// from. While a shard rests that cannot be said, and the spot stays.
func (s *Stream) read(name string, to *spot) (page []event, from places, missed bool) {
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
		if !slices.Equal(to.at, e.at) { // he was told otherwise before, by another process
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

// format writes an event as server-sent events are.
func (e *event) format(id string) []byte {
	kind, v := "move", any(e.told.Move)
	if g := e.told.Ended; g != nil {
		kind, v = "finished", Finish{g.Board, g.Winner, g.Reason, g.Plies, g.Seconds, g.Finished.UTC()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return []byte{}
	}
	return sse(nil, id, kind, data)
}

// sse appends one server-sent event; an empty id is none. Data has no line break.
func sse(dst []byte, id, kind string, data []byte) []byte {
	if id != "" {
		dst = fmt.Appendf(dst, "id: %s\n", id)
	}
	return fmt.Appendf(dst, "event: %s\ndata: %s\n\n", kind, data)
}

// id writes a place of the stream, placesOf reads it; nil for one of another journal, or
// of another number of shards.
func (p places) id(name string) string {
	text := []byte(name)
	for _, at := range p {
		text = strconv.AppendUint(append(text, '-'), at.seq, 10)
		text = strconv.AppendInt(append(text, '-'), int64(at.past), 10)
	}
	return string(text)
}

func placesOf(id, name string, shards int) (p places, err error) {
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
