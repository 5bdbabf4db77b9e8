package link

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"time"

	"wamble"
	"wamble/wire"
)

// Class says in which order waiting datagrams are processed.
type Class uint8

// The classes, first those that go first.
const (
	ClassPlayer Class = iota // with a token, from an address that has proven itself with it
	ClassProven              // with a cookie or the token of an offer, from the address that it was made for
	ClassRest                // all others: newcomers, players at new addresses, and forged addresses
	Classes
)

func (c Class) String() string { return [...]string{"player", "proven", "rest"}[c] }

// The bounds of an intake.
const (
	maxPlayerWaits = 1 << 12
	maxProvenWaits = 1 << 10
	maxRestWaits   = 1 << 11                // of hosts with few datagrams, and as many of the others
	fewOfHost      = 2                      // datagrams of a host that go before those of hosts with more
	maxAge         = 2 * time.Second        // of the rest; later the sender has given up
	maxRestAge     = 250 * time.Millisecond // while more than fewRestWaits wait
	strainedAge    = 100 * time.Millisecond // the same
	fewRestWaits   = 32
	strainedTime   = 500 * time.Millisecond
	calmTime       = 250 * time.Millisecond // a process with little of a processor pauses for 100 ms at times
	minRepeat      = 100                    // milliseconds from a datagram to a copy of it that counts as sent again
	maxRepeat      = 2000
)

// Intake orders the datagrams that have arrived and are not processed yet: first by class; players and proven ones as
// they came; of the rest first those that have been sent before, because a forger mostly uses an address once, last
// those of hosts with many datagrams, and each of these the newest first. It drops what is too old of the rest, because
// its sender has sent a copy, what has no room, and copies. It has no clock; times do not run backwards. The zero value
// is empty, and has memory for datagrams from the first Add on.
type Intake struct {
	queues [queues]queue
	// held counts the datagrams in repeated and fewRest by a hash of their host. Hosts with the same hash share a
	// number, which only means that the second one's datagrams may go later.
	held [1 << 14]uint8
	// places has the places of the latest datagrams by a hash of their content, to find copies. A datagram whose
	// place is overwritten by another one is not found.
	places [1 << 12]place
	// sent has, by a hash of its content, when a datagram of the rest was sent first.
	sent [1 << 14]firstSent
	// From strainedSince to late the rest was always more than could be processed in time.
	strainedSince, late time.Duration
	shed                [Classes]uint64
}

// The queues, first those that go first.
const (
	players = iota
	provenOnes
	repeated // of the rest, sent before, of hosts with few datagrams
	fewRest  // of hosts with few datagrams
	manyRest // of hosts with more
	queues
)

// Waiting is a datagram that waits.
type Waiting struct {
	From wamble.Peer
	At   time.Duration // when the kernel received it
	Data []byte

	host    uint16 // hash of the sender's host
	cookie  bool   // it is a hello that is answered with a cookie
	again   bool   // it was sent before
	dropped bool   // a newer copy has replaced it
}

// queue is a ring: the datagrams from number head to below tail wait.
type queue struct {
	ring       []Waiting
	head, tail uint32
}

type place struct {
	queue  uint8
	number uint32
}

type firstSent struct {
	sum uint32
	at  uint32 // in milliseconds
}

func (q *queue) len() int { return int(q.tail - q.head) }

func (q *queue) at(number uint32) *Waiting { return &q.ring[number%uint32(len(q.ring))] }

// has reports whether a number waits.
func (q *queue) has(number uint32) bool { return number-q.head < q.tail-q.head }

// Classify returns the class of a datagram, and whether it is a hello that is answered with a cookie, as of the last
// call with a time. It changes nothing that later calls depend on.
func (e *Endpoint) Classify(from wamble.Peer, b []byte) (class Class, cookie bool) {
	p := &e.classed
	if p.Header.Read(b) != nil {
		return ClassRest, false
	}
	for path := e.table.paths[from]; path != nil; path = path.beside {
		if path.proof.proven && path.owns(p.Token) {
			return ClassPlayer, false
		}
	}
	if !p.Token.IsZero() && e.remembers(e.now, from, p.Token) {
		return ClassPlayer, false
	}
	if !e.seals.on || e.now-e.seals.since >= keyTime { // to open a seal then replaces the keys
		return ClassRest, false
	}
	if !p.Token.IsZero() {
		if _, ok := e.seals.open(e.now, offerSeal, from, p.Token); ok {
			return ClassProven, false
		}
	}
	if p.Ctrl != wire.CtrlClientHello || p.Decode(b) != nil {
		return ClassRest, false
	}
	switch e.cookieOf(e.now, from, p) {
	case goodCookie:
		return ClassProven, false
	case badCookie:
		return ClassRest, true
	}
	return ClassRest, false
}

// Add puts a copy of a datagram that the kernel received at a time into its queue, or drops it. Cookie is as Classify
// returned it.
func (q *Intake) Add(now time.Duration, class Class, cookie bool, from wamble.Peer, at time.Duration, b []byte) {
	host := hostHash(from)
	sum := contentHash(host, from, b)
	again := false
	if class == ClassRest {
		again = q.sentBefore(sum, at)
		old := q.tooOld(now, at)
		if old {
			q.noteLate(now)
		}
		if old || !cookie && !again && q.OnlyCookies(now) {
			q.shed[class]++
			return
		}
	}
	place := &q.places[sum%uint64(len(q.places))]
	if w := q.copyAt(*place, from, b); w != nil {
		if place.queue < repeated {
			q.shed[class]++
			return
		}
		q.dropRest(int(place.queue), w) // the newer one goes first
	}
	host %= uint16(len(q.held))
	to, room := int(class), [...]int{maxPlayerWaits, maxProvenWaits, maxRestWaits}[class]
	switch {
	case class != ClassRest:
	case q.held[host] >= fewOfHost:
		to = manyRest
	case !again:
		to = fewRest
	}
	ring := &q.queues[to]
	if ring.ring == nil {
		ring.ring = make([]Waiting, room)
	}
	if ring.len() == room {
		if class != ClassRest {
			q.shed[class]++
			return
		}
		q.noteLate(now)
		q.dropOldest(to)
	}
	if to == repeated || to == fewRest {
		q.held[host]++
	}
	w := ring.at(ring.tail)
	*w = Waiting{From: from, At: at, Data: append(w.Data[:0], b...), host: host, cookie: cookie, again: again}
	place.queue, place.number = uint8(to), ring.tail
	ring.tail++
}

// sentBefore reports whether a datagram of the rest was sent before, and remembers it.
func (q *Intake) sentBefore(sum uint64, at time.Duration) bool {
	first := &q.sent[sum>>32%uint64(len(q.sent))]
	ms := uint32(at / time.Millisecond)
	if first.sum != uint32(sum) || ms-first.at > maxRepeat {
		*first = firstSent{uint32(sum), ms}
		return false
	}
	return ms-first.at >= minRepeat
}

// copyAt returns the datagram at a place if it waits and is the same as another one, or nil.
func (q *Intake) copyAt(p place, from wamble.Peer, b []byte) *Waiting {
	ring := &q.queues[p.queue]
	if !ring.has(p.number) {
		return nil
	}
	if w := ring.at(p.number); !w.dropped && w.From == from && bytes.Equal(w.Data, b) {
		return w
	}
	return nil
}

// dropRest drops a datagram of the rest. Its place in the queue is passed over later.
func (q *Intake) dropRest(of int, w *Waiting) {
	if w.dropped {
		return
	}
	if of != manyRest {
		q.held[w.host]--
	}
	w.dropped = true
	q.shed[ClassRest]++
}

func (q *Intake) dropOldest(of int) {
	ring := &q.queues[of]
	q.dropRest(of, ring.at(ring.head))
	ring.head++
}

// DropRest drops all of the rest.
func (q *Intake) DropRest() {
	for of := repeated; of <= manyRest; of++ {
		for q.queues[of].len() > 0 {
			q.dropOldest(of)
		}
	}
}

// Next takes the datagram that is to be processed next, nil if none waits. It is valid until the next Add.
func (q *Intake) Next(now time.Duration) (Class, *Waiting) {
	for of := players; of <= provenOnes; of++ {
		if ring := &q.queues[of]; ring.len() > 0 {
			w := ring.at(ring.head)
			ring.head++
			return Class(of), w
		}
	}
	for of := repeated; of <= manyRest; of++ {
		q.dropOld(now, of)
		ring := &q.queues[of]
		for ring.len() > 0 {
			ring.tail--
			w := ring.at(ring.tail)
			switch {
			case w.dropped:
			case !w.cookie && !w.again && q.OnlyCookies(now):
				q.dropRest(of, w)
			default:
				if of != manyRest {
					q.held[w.host]--
				}
				return ClassRest, w
			}
		}
	}
	return 0, nil
}

// dropOld drops what is too old in a queue of the rest.
func (q *Intake) dropOld(now time.Duration, of int) {
	ring := &q.queues[of]
	for ring.len() > 0 {
		w := ring.at(ring.head)
		if late := now-w.At > strainedAge; !w.dropped && late && q.restLen() > fewRestWaits {
			q.noteLate(now)
		}
		if !w.dropped && !q.tooOld(now, w.At) {
			return
		}
		q.dropOldest(of)
	}
}

// tooOld reports whether a datagram of the rest is dropped that was received at a time. If few wait, a late one is
// processed: a process that seldom gets a processor reads everything late.
func (q *Intake) tooOld(now, at time.Duration) bool {
	return now-at > maxAge || now-at > maxRestAge && q.restLen() > fewRestWaits
}

// restLen returns how many datagrams of the rest wait, with some that are dropped already.
func (q *Intake) restLen() int {
	return q.queues[repeated].len() + q.queues[fewRest].len() + q.queues[manyRest].len()
}

// noteLate notes that the rest is more than can be processed in time.
func (q *Intake) noteLate(now time.Duration) {
	if now-q.late > calmTime {
		q.strainedSince = now
	}
	q.late = now
}

// OnlyCookies reports whether the rest has been more than can be processed in time for strainedTime. Then only those
// of its hellos go on that are answered with a cookie, which costs little, and what has been sent before.
func (q *Intake) OnlyCookies(now time.Duration) bool {
	return now-q.late <= calmTime && q.late-q.strainedSince >= strainedTime
}

// Len returns how many datagrams wait; of the rest it counts some that are dropped already.
func (q *Intake) Len() (n int) {
	for of := range q.queues {
		n += q.queues[of].len()
	}
	return n
}

// Shed returns how many datagrams of each class were dropped.
func (q *Intake) Shed() [Classes]uint64 { return q.shed }

// contentHash returns a hash of a datagram's sender and header.
func contentHash(host uint16, from wamble.Peer, b []byte) uint64 {
	h := mix(uint64(host), uint64(from.Addr.Port())<<32|uint64(len(b)))
	for b = b[:min(len(b), wire.HeaderSize)]; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	return h
}

// hostHash returns a hash of the key of limits per host.
func hostHash(from wamble.Peer) uint16 {
	id := hostKey(from)
	return uint16(mix(mix(1, binary.LittleEndian.Uint64(id[:8])), binary.LittleEndian.Uint64(id[8:16])))
}

func mix(h, v uint64) uint64 {
	high, low := bits.Mul64(h^v^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
	return high ^ low
}
