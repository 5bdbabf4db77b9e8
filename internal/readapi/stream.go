package readapi

import (
	"slices"
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

// Stream is what happened last in a profile, in order: a ring that observers read,
// each at his own pace. The drains of its shards add to it and wait for nobody. A shard
// that nobody observes rests, and the stream with it: it knows no more than how far the
// shard is, until what happened there is added again for the next reader. The zero value
// is the stream of one shard, at rest.
type Stream struct {
	Shards int // 0: one

	mu      sync.Mutex
	events  []event // of all shards; at most streamKept; none while a shard rests
	first   uint64  // the number of events[0], counted since the process began
	parts   []part  // the shards
	seen    places  // behind the last event
	changed chan struct{}
	stopped bool
	readers int
	left    time.Time // when the last reader left
	asked   time.Time // when somebody who has readers of his own was last told
}

// part is what a stream knows of one shard.
type part struct {
	known bool    // so is its end
	end   place   // behind everything
	start place   // where those begin to read who came before the end was known
	begun bool    // base and fresh count: the shard does not rest
	base  place   // everything behind it is in events, or fresh
	fresh []event // not among the events yet
	held  bool    // something of it may be missing that others wait for, until it is added
}

// streamKept is how many happenings observers may be behind.
const streamKept = 8192

// readersReturn is for how long after its last reader a stream goes on: he may come back,
// and to add again what happened meanwhile costs more.
const readersReturn = 20 * time.Second

// part returns what is known of a shard, of which the message through is known.
func (s *Stream) part(shard int, through uint64) *part {
	if s.parts == nil {
		s.parts = make([]part, max(1, s.Shards))
		s.seen = make(places, len(s.parts))
	}
	p := &s.parts[shard]
	if !p.known {
		p.known, p.end, p.start = true, place{through + 1, 0}, place{through + 1, 0}
	}
	return p
}

// Wanted reports whether what happens in a shard behind the message through is to be
// added: somebody reads it, or has read it a moment ago. Otherwise the shard rests.
func (s *Stream) Wanted(shard int, through uint64, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(shard, through)
	if s.observed(now) || now.Sub(s.asked) < readersReturn {
		return true
	}
	if p.begun {
		s.rest(shard)
	}
	p.end = place{through + 1, 0}
	return false
}

// rest forgets what happened in a shard. What happened in the others is put in order anew
// when it begins again.
func (s *Stream) rest(shard int) {
	for _, e := range s.events {
		p := &s.parts[e.shard]
		p.fresh = append(p.fresh, event{shard: e.shard, told: e.told})
	}
	s.first += uint64(len(s.events))
	s.events = nil
	for i, p := range s.parts {
		s.seen[i] = p.base
	}
	p := &s.parts[shard]
	p.begun, p.fresh = false, nil
}

// Asked says that somebody who has readers of his own asks, and will go on to.
func (s *Stream) Asked(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = now
}

// Since returns what happened in a shard in the messages behind first up to through, as far
// as it is kept behind the message after and most allow, and end, the last message. Known
// is false while the shard rests.
func (s *Stream) Since(shard int, after uint64, most int) (first, through, end uint64, list []Happened, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || !s.parts[shard].begun {
		return 0, 0, 0, nil, false
	}
	p := &s.parts[shard]
	first = p.base.seq
	if p.base.past == 0 {
		first--
	}
	end = p.end.seq - 1
	first = min(max(first, after), end)
	for _, events := range [][]event{p.fresh, s.events} { // the newest first
		for i := range slices.Backward(events) {
			if e := &events[i]; e.shard == shard {
				if e.told.Seq <= first {
					break
				}
				list = append(list, e.told)
			}
		}
	}
	slices.Reverse(list)
	if through = end; len(list) > most {
		cut := most
		for cut < len(list) && list[cut].Seq == list[cut-1].Seq { // whole messages
			cut++
		}
		if cut < len(list) {
			list, through = list[:cut], list[cut-1].Seq
		}
	}
	return first, through, end, list, true
}

// Known returns up to which message of a shard all was added, and whether that is known.
func (s *Stream) Known(shard int) (through uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || !s.parts[shard].begun {
		return 0, false
	}
	return s.parts[shard].end.seq - 1, true
}

// Meet says which message is the last of a shard that somebody else tells of.
func (s *Stream) Meet(shard int, through uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part(shard, through)
}

// Hold lets the events of all shards wait until something of this one is added: it may be
// older.
func (s *Stream) Hold(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts != nil {
		s.parts[shard].held = true
	}
}

// Forget lets a shard rest whose end is not known any more.
func (s *Stream) Forget(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || !s.parts[shard].known {
		return
	}
	if s.parts[shard].begun {
		s.rest(shard)
	}
	s.parts[shard].known, s.parts[shard].held = false, false
}

// Observed reports whether somebody reads the stream, or has a moment ago.
func (s *Stream) Observed(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observed(now)
}

func (s *Stream) observed(now time.Time) bool {
	return s.readers > 0 || now.Sub(s.left) < readersReturn
}

// Expect says that readers of an earlier process may come back, and that nothing of what
// happens until then can be added again.
func (s *Stream) Expect(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = now
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
	shard int
	at    places // behind it, and behind what of other shards came before it
	told  Happened
	text  []byte // as it is sent; made when somebody first needs it
}

// behind is the place behind an event in its shard.
func (e *event) behind() place { return place{e.told.Seq, e.told.Place + 1} }

// Add tells what happened in a shard in the messages behind after up to through. What is
// known is left out; if something before it is missing, or the shard rested, it begins
// anew.
func (s *Stream) Add(shard int, after, through uint64, list []Happened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.part(shard, through)
	if p.begun && after >= p.end.seq {
		s.rest(shard)
	}
	if !p.begun {
		p.begun, p.base, p.end = true, place{after + 1, 0}, place{after + 1, 0}
		s.seen[shard] = p.base
	}
	for i := range list {
		if h := &list[i]; h.Seq >= p.end.seq {
			p.fresh = append(p.fresh, event{shard: shard, told: *h})
		}
	}
	p.end.seq = max(p.end.seq, through+1)
	p.held = false
	s.settle(shard)
}

// settle puts what is fresh among the events, if nothing older may come, and drops what is
// too much. A shard has something new.
func (s *Stream) settle(shard int) {
	p := &s.parts[shard]
	if s.begun() && !slices.ContainsFunc(s.parts, func(p part) bool { return p.held }) {
		s.merge()
		if over := tooMany(s.events); over > 0 {
			for i, at := range s.events[over-1].at {
				s.parts[i].base = at
			}
			s.first += uint64(over)
			s.events = slices.Clone(s.events[over:])
		}
	} else if over := tooMany(p.fresh); over > 0 {
		p.base = p.fresh[over-1].behind()
		s.seen[shard] = p.base
		p.fresh = slices.Clone(p.fresh[over:])
	}
	s.wake()
}

// tooMany is how many events are to be dropped: not one by one, that would copy each time.
func tooMany(events []event) int {
	if over := len(events) - streamKept; over > streamKept/8 {
		return over
	}
	return 0
}

// begun reports whether no shard rests.
func (s *Stream) begun() bool {
	return s.parts != nil && !slices.ContainsFunc(s.parts, func(p part) bool { return !p.begun })
}

// merge puts what is fresh of the shards among the events: by time, so that the moves of
// a board that has travelled are in order, and each shard in its own order.
func (s *Stream) merge() {
	n := 0
	for i := range s.parts {
		n += len(s.parts[i].fresh)
	}
	all := make(places, n*len(s.parts))
	for ; n > 0; n-- {
		var next *part
		for i := range s.parts {
			if p := &s.parts[i]; len(p.fresh) > 0 && (next == nil || p.fresh[0].told.at().Before(next.fresh[0].told.at())) {
				next = p
			}
		}
		e := next.fresh[0]
		next.fresh = next.fresh[1:]
		s.seen[e.shard] = e.behind()
		e.at, all = all[:len(s.parts):len(s.parts)], all[len(s.parts):]
		copy(e.at, s.seen)
		s.events = append(s.events, e)
	}
	for i := range s.parts {
		s.parts[i].fresh, s.seen[i] = nil, s.parts[i].end
	}
}

func (h *Happened) at() time.Time {
	if h.Ended != nil {
		return h.Ended.Finished
	}
	return h.At
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

// Changed returns a channel that is closed when there is more; nil when observers are to
// go.
func (s *Stream) Changed() <-chan struct{} {
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
