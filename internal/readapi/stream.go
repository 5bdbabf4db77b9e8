package readapi

import (
	"slices"
	"sync"
	"time"

	"wamble"
)

// Happened is an event: a move, or the end of a game if Ended is not nil. Seq is the number
// of its message in the journal, and Place its index there.
type Happened struct {
	Seq   uint64
	Place int
	Move
	Ended *Ended
}

// Move is the JSON of a move for observers.
type Move struct {
	Board   wamble.BoardID   `json:"board"`
	Ply     int              `json:"ply"`
	UCI     string           `json:"uci"`
	FEN     string           `json:"fen,omitempty"` // after the move
	Session wamble.SessionID `json:"session"`
	At      time.Time        `json:"at"`
}

// Finish is the JSON of a finished game for observers.
type Finish struct {
	Board    wamble.BoardID `json:"board"`
	Winner   string         `json:"winner"`
	Reason   string         `json:"reason"`
	Plies    int            `json:"plies"`
	Seconds  float64        `json:"seconds"`
	Finished time.Time      `json:"finished"`
}

// Stream has the latest events of a profile in order. Observers read it, each at their own
// pace; the drains of the shards add to it and never wait. While a shard is idle, because it
// has no observer, the stream has no events and knows only the end of the shard. Its events
// are added again for the next reader. The zero value is an idle stream of one shard.
type Stream struct {
	Shards int // number of shards; 0 means 1

	mu      sync.Mutex
	events  []event       // of all shards; about maxEvents; none while a shard is idle
	first   uint64        // number of events[0], counted since the start of the process
	parts   []shardState  // the shards
	seen    position      // after the last event
	changed chan struct{} // closed by wake; nil if nothing waits for it
	stopped bool
	readers int
	left    time.Time // when the last reader left
	asked   time.Time // when another node with readers asked last
}

// shardState is the state of one shard in a stream.
type shardState struct {
	known   bool     // end is known
	end     place    // after the last message
	start   place    // where readers begin who came before the end was known
	begun   bool     // the shard is not idle: base and fresh are valid
	base    place    // all later events are in Stream.events or fresh
	fresh   []event  // not merged into Stream.events yet
	barrier *barrier // what events of all shards wait for; nil for nothing
}

// barrier makes later events wait, because a shard may have older ones that were not added yet.
type barrier struct {
	until uint64    // it ends when the shard's messages up to this one are added
	from  time.Time // events before this time do not wait
}

// maxEvents is how many events observers may be behind.
const maxEvents = 8192

// readersReturn is how long shards stay active after the last reader has left, who may come
// back. To add the events again would cost more.
const readersReturn = 20 * time.Second

// shardState returns the state of a shard. If its end is not known yet, it is after the message
// through.
func (s *Stream) shardState(shard int, through uint64) *shardState {
	s.init()
	p := &s.parts[shard]
	if !p.known {
		p.known, p.end, p.start = true, place{through + 1, 0}, place{through + 1, 0}
	}
	return p
}

// init makes the shards of the zero value.
func (s *Stream) init() {
	if s.parts == nil {
		s.parts = make([]shardState, max(1, s.Shards))
		s.seen = make(position, len(s.parts))
	}
}

// Wanted reports whether events of a shard after the message through are to be added: the
// stream has readers, or had some within readersReturn. Otherwise the shard becomes idle.
func (s *Stream) Wanted(shard int, through uint64, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.shardState(shard, through)
	if s.observed(now) || now.Sub(s.asked) < readersReturn {
		return true
	}
	if p.begun {
		s.makeIdle(shard)
	}
	p.end = place{through + 1, 0}
	return false
}

// makeIdle makes a shard idle and drops its events. Those of the other shards are merged anew
// when it becomes active again.
func (s *Stream) makeIdle(shard int) {
	for _, e := range s.events {
		p := &s.parts[e.shard]
		p.fresh = append(p.fresh, event{shard: e.shard, happened: e.happened})
	}
	s.first += uint64(len(s.events))
	s.events = nil
	for i, p := range s.parts {
		s.seen[i] = p.base
	}
	p := &s.parts[shard]
	p.begun, p.fresh = false, nil
}

// Asked records that another node with readers asks for events.
func (s *Stream) Asked(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = now
}

// Since returns events of a shard after the message after: those of the messages after first
// up to through, about most events at most. First is greater than after if older events are
// no longer kept. End is the last message. Known is false while the shard is idle.
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
				if e.happened.Seq <= first {
					break
				}
				list = append(list, e.happened)
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

// Known returns the last message of a shard that was added; known is false while it is idle.
func (s *Stream) Known(shard int) (through uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || !s.parts[shard].begun {
		return 0, false
	}
	return s.parts[shard].end.seq - 1, true
}

// Meet sets the end of a remote shard to the message through, unless it is known.
func (s *Stream) Meet(shard int, through uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shardState(shard, through)
}

// SetBarrier makes the events of all shards at from and later wait until the messages of this shard up to until
// are added, whose events may be older: a board may have gone on from this shard to another one. It replaces an
// earlier barrier of the shard.
func (s *Stream) SetBarrier(shard int, until uint64, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	s.parts[shard].barrier = &barrier{until, from}
}

// Forget makes a shard idle, and its end unknown.
func (s *Stream) Forget(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil || !s.parts[shard].known {
		return
	}
	if s.parts[shard].begun {
		s.makeIdle(shard)
	}
	s.parts[shard].known, s.parts[shard].barrier = false, nil
}

// Observed reports whether the stream has readers, or had some within readersReturn.
func (s *Stream) Observed(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.observed(now)
}

func (s *Stream) observed(now time.Time) bool {
	return s.readers > 0 || now.Sub(s.left) < readersReturn
}

// Expect keeps the stream active for readersReturn, because readers of an earlier process
// may come back.
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
	shard    int
	at       position // after the event and all events before it
	happened Happened
	text     []byte // encoded for sending; made at the first read
}

// next returns the place after an event in its shard.
func (e *event) next() place { return place{e.happened.Seq, e.happened.Place + 1} }

// Add adds the events of a shard in the messages after after up to through. Known ones are
// skipped. If messages before them are missing, or the shard was idle, it begins anew.
func (s *Stream) Add(shard int, after, through uint64, list []Happened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.shardState(shard, through)
	if p.begun && after >= p.end.seq {
		s.makeIdle(shard)
	}
	if !p.begun {
		p.begun, p.base, p.end = true, place{after + 1, 0}, place{after + 1, 0}
		s.seen[shard] = p.base
	}
	for i := range list {
		if h := &list[i]; h.Seq >= p.end.seq {
			p.fresh = append(p.fresh, event{shard: shard, happened: *h})
		}
	}
	p.end.seq = max(p.end.seq, through+1)
	if p.barrier != nil && through >= p.barrier.until {
		p.barrier = nil
	}
	s.mergeFresh(shard)
}

// mergeFresh merges the fresh events of a shard into the stream, unless older ones of other
// shards may come, and drops the oldest if there are too many.
func (s *Stream) mergeFresh(shard int) {
	p := &s.parts[shard]
	if s.begun() {
		s.merge()
		if over := tooMany(s.events); over > 0 {
			for i, at := range s.events[over-1].at {
				s.parts[i].base = at
			}
			s.first += uint64(over)
			s.events = slices.Clone(s.events[over:])
		}
	}
	if over := tooMany(p.fresh); over > 0 {
		p.base = p.fresh[over-1].next()
		s.seen[shard] = p.base
		p.fresh = slices.Clone(p.fresh[over:])
	}
	s.wake()
}

// tooMany returns how many events to drop. It drops many at a time, because each time the
// rest is copied.
func tooMany(events []event) int {
	if over := len(events) - maxEvents; over > maxEvents/8 {
		return over
	}
	return 0
}

// begun reports whether no shard is idle.
func (s *Stream) begun() bool {
	return s.parts != nil && !slices.ContainsFunc(s.parts, func(p shardState) bool { return !p.begun })
}

// merge appends the fresh events of all shards to the stream, by time, so that the moves of a
// board that changed its shard are in order. Each shard keeps its own order. Events that must wait stay fresh.
func (s *Stream) merge() {
	n := 0
	for i := range s.parts {
		n += len(s.parts[i].fresh)
	}
	all := make(position, n*len(s.parts))
	for {
		var next *shardState
		for i := range s.parts {
			if p := &s.parts[i]; len(p.fresh) > 0 &&
				(next == nil || p.fresh[0].happened.at().Before(next.fresh[0].happened.at())) {
				next = p
			}
		}
		if next == nil || s.waits(next.fresh[0].happened.at()) {
			break
		}
		e := next.fresh[0]
		next.fresh = next.fresh[1:]
		s.seen[e.shard] = e.next()
		e.at, all = all[:len(s.parts):len(s.parts)], all[len(s.parts):]
		copy(e.at, s.seen)
		s.events = append(s.events, e)
	}
	for i := range s.parts {
		if p := &s.parts[i]; len(p.fresh) == 0 {
			p.fresh, s.seen[i] = nil, p.end
		}
	}
}

// waits reports whether an event of this time waits for a shard.
func (s *Stream) waits(at time.Time) bool {
	return slices.ContainsFunc(s.parts, func(p shardState) bool { return p.barrier != nil && !at.Before(p.barrier.from) })
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

// Stop makes observers leave after they have read all events, or with false undoes that.
func (s *Stream) Stop(stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = stopped
	s.wake()
}

// Changed returns a channel that is closed when there are more events; nil if observers
// shall leave.
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
