package readapi

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"wamble"
)

// Happened is a move, or the end of a game if Ended is not nil. Its number is that of
// its message in the journal, and its place there.
type Happened struct {
	Seq   uint64
	Place int
	Move
	Ended *Ended
}

// Move is the JSON of a move that observers are told.
type Move struct {
	Board   wamble.BoardID   `json:"board"`
	Ply     int              `json:"ply"`
	UCI     string           `json:"uci"`
	FEN     string           `json:"fen,omitempty"` // after the move
	Session wamble.SessionID `json:"session"`
	At      time.Time        `json:"at"`
}

// Finish is the JSON of a finished game that observers are told.
type Finish struct {
	Board    wamble.BoardID `json:"board"`
	Winner   string         `json:"winner"`
	Reason   string         `json:"reason"`
	Plies    int            `json:"plies"`
	Seconds  float64        `json:"seconds"`
	Finished time.Time      `json:"finished"`
}

// place is a place in the stream: behind so many happenings of a message.
type place struct {
	seq  uint64
	past int
}

func (p place) before(q place) bool { return p.seq < q.seq || p.seq == q.seq && p.past < q.past }

// Stream is what happened last in a profile, in order: a ring that observers read,
// each at his own pace. The journal's drain adds to it and waits for nobody. The zero
// value is empty.
type Stream struct {
	mu      sync.Mutex
	events  []event // sorted by place, at most streamKept
	base    place   // everything behind it is in events
	through uint64  // up to this message
	begun   bool    // it is known where it begins
	rested  bool    // nobody wanted it, before it began
	start   place   // where those begin to read who have waited for it to begin
	changed chan struct{}
	stopped bool
	readers int
	left    time.Time // when the last reader left, or the stream was first asked for
}

// streamKept is how many happenings observers may be behind.
const streamKept = 8192

// readersReturn is for how long after its last reader a stream goes on.
const readersReturn = 20 * time.Second

// Wanted reports whether what happens is to be added: somebody reads it, or has read it a
// moment ago and may come back. What nobody wants is forgotten.
func (s *Stream) Wanted(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left.IsZero() {
		s.left = now // after a restart readers come back, too
	}
	if s.readers > 0 || now.Sub(s.left) < readersReturn {
		return true
	}
	s.events, s.begun, s.rested = nil, false, true
	return false
}

// enter and leave count the readers.
func (s *Stream) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
}

func (s *Stream) leave(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	s.left = now
}

type event struct {
	at      place // behind it
	board   wamble.BoardID
	session wamble.SessionID // who moved; 0 when a game has ended
	told    Happened
	text    []byte // as it is sent; made when somebody first needs it
}

// Add tells what happened in the messages behind after up to through. What is known is
// left out; if something before it is missing, the stream begins anew.
func (s *Stream) Add(after, through uint64, list []Happened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun || after > s.through {
		if s.start = (place{through + 1, 0}); s.rested {
			s.start = place{after + 1, 0}
		}
		s.events, s.base, s.through, s.begun = nil, place{after + 1, 0}, after, true
	}
	if through <= s.through {
		s.wake()
		return
	}
	for i := range list {
		if h := &list[i]; h.Seq > s.through {
			s.events = append(s.events, event{at: place{h.Seq, h.Place + 1}, board: h.Board, session: h.Session, told: *h})
		}
	}
	s.through = through
	if over := len(s.events) - streamKept; over > streamKept/8 { // not one by one: that would copy each time
		s.base = s.events[over-1].at
		s.events = append([]event(nil), s.events[over:]...)
	}
	s.wake()
}

func (s *Stream) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Stop lets all observers go when they have what is there, until it is undone.
func (s *Stream) Stop(stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = stopped
	s.wake()
}

// wait returns a channel that is closed when there is more; nil when observers are to
// go.
func (s *Stream) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// end is the place behind everything, if that is known yet. Who has waited for that
// begins behind what was there when he came.
func (s *Stream) end(waited bool) (place, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waited {
		return s.start, s.begun
	}
	return place{s.through + 1, 0}, s.begun
}

// streamPage is how many events an observer takes at once.
const streamPage = 256

// read returns what happened behind a place, a page at most, and up to where it has
// looked. Missed says that something behind the place is gone; then it begins with the
// oldest, behind from.
func (s *Stream) read(name string, from place) (page []event, start, to place, missed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if missed = from.before(s.base); missed {
		from = s.base
	}
	first := sort.Search(len(s.events), func(i int) bool { return from.before(s.events[i].at) })
	last := min(first+streamPage, len(s.events))
	for i := first; i < last; i++ {
		if e := &s.events[i]; e.text == nil {
			e.text = e.format(name)
		}
	}
	to = from
	if end := (place{s.through + 1, 0}); last == len(s.events) && from.before(end) {
		to = end
	} else if last > first {
		to = s.events[last-1].at
	}
	return append(page, s.events[first:last]...), from, to, missed
}

// format writes an event as server-sent events are.
func (e *event) format(name string) []byte {
	kind, v := "move", any(e.told.Move)
	if g := e.told.Ended; g != nil {
		kind, v = "finished", Finish{g.Board, g.Winner, g.Reason, g.Plies, g.Seconds, g.Finished.UTC()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return []byte{}
	}
	return sse(nil, e.at.id(name), kind, data)
}

// sse appends one server-sent event; an empty id is none. Data has no line break.
func sse(dst []byte, id, kind string, data []byte) []byte {
	if id != "" {
		dst = fmt.Appendf(dst, "id: %s\n", id)
	}
	return fmt.Appendf(dst, "event: %s\ndata: %s\n\n", kind, data)
}

// id writes a place of the stream, placeOf reads it; ok is false for one of another
// journal.
func (p place) id(name string) string { return fmt.Sprintf("%s-%d-%d", name, p.seq, p.past) }

func placeOf(id, name string) (p place, ok bool, err error) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 || len(parts[0]) != 8 {
		return place{}, false, badf("Last-Event-ID is the id of an event")
	}
	seq, err := strconv.ParseUint(parts[1], 10, 63)
	past, err2 := strconv.ParseUint(parts[2], 10, 16)
	if err != nil || err2 != nil {
		return place{}, false, badf("Last-Event-ID is the id of an event")
	}
	return place{seq, int(past)}, parts[0] == name, nil
}
