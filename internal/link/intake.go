package link

import (
	"slices"
	"time"

	"wamble"
	"wamble/wire"
)

// Class says in which order waiting datagrams are processed.
type Class uint8

// The classes, first those that go first.
const (
	ClassPlayer Class = iota // of a token at an address that has proven itself with it
	ClassProven              // with a cookie, or the token of an offer, for its address
	ClassRest                // all others: newcomers, and who forges addresses
	classes
)

// The bounds of an intake.
const (
	maxPlayerWaits  = 4096
	maxProvenWaits  = 1024
	maxRestWaits    = 256
	maxRestPerHost  = 8
	maxRestAge      = 250 * time.Millisecond // after which a newcomer has sent a copy
	strainedAge     = 100 * time.Millisecond
	strainedForLong = 500 * time.Millisecond
)

// Intake orders the datagrams that have arrived and were not processed yet: by class, players and proven ones as they
// came, of the rest the newest first, with turns for hosts. What a flood of the rest leaves behind is dropped, so that
// no work is done for who has given up. It has no clock, and times never go back. The zero value is empty.
type Intake struct {
	first [ClassRest]waitingList
	rest  []*restHost // who is next comes first
	waits int         // datagrams in rest
	// From strained to late there was always more of the rest than could be processed within strainedAge.
	strained, late time.Duration
	spare          [][]byte
	shed           [classes]uint64
}

// datagram is a datagram that waits.
type datagram struct {
	from wamble.Peer
	at   time.Duration // when the kernel has received it
	data []byte
}

// waitingList is a queue in the order of datagram.
type waitingList struct {
	list []datagram
	next int
}

// restHost has what waits of a host, oldest first.
type restHost struct {
	id     hostID
	list   []datagram
	served bool // it has had a turn, so that what it sends does not bring it forward
}

// Classify returns the class of a datagram, as of the last call with a time. It changes nothing.
func (e *Endpoint) Classify(from wamble.Peer, b []byte) Class {
	now := e.now
	var p wire.Packet
	if p.Read(b) != nil {
		return ClassRest
	}
	for path := e.table.paths[from]; path != nil; path = path.beside {
		if path.proof.proven && path.owns(p.Token) {
			return ClassPlayer
		}
	}
	if !p.Token.IsZero() {
		if _, ok := e.seals.open(now, offerSeal, from, p.Token); ok {
			return ClassProven
		}
	}
	if p.Ctrl == wire.CtrlClientHello && p.Decode(b) == nil && e.cookieOf(now, from, &p) == goodCookie {
		return ClassProven
	}
	return ClassRest
}

// Add puts a copy of a datagram that the kernel received at a time in its place. It is dropped if there is no room; of
// the rest an older one is, and an older copy of the same request.
func (q *Intake) Add(class Class, from wamble.Peer, at time.Duration, b []byte) {
	d := datagram{from, at, q.copyOf(b)}
	if class == ClassRest {
		q.addRest(d)
		return
	}
	room := maxPlayerWaits
	if class == ClassProven {
		room = maxProvenWaits
	}
	if w := &q.first[class]; len(w.list)-w.next < room {
		w.list = append(w.list, d)
		return
	}
	q.drop(class, d)
}

// addRest puts a host that has had no turn yet before all others.
func (q *Intake) addRest(d datagram) {
	h := &restHost{id: hostKey(d.from)}
	i := slices.IndexFunc(q.rest, func(other *restHost) bool { return other.id == h.id })
	if i >= 0 {
		h = q.rest[i]
		same := slices.IndexFunc(h.list, func(other datagram) bool { return isCopy(other, d) })
		if same < 0 && len(h.list) == maxRestPerHost {
			same = 0
		}
		if same >= 0 {
			q.drop(ClassRest, h.list[same])
			h.list = slices.Delete(h.list, same, same+1)
			q.waits--
		}
		if !h.served {
			q.rest = slices.Delete(q.rest, i, i+1)
		}
	}
	h.list = append(h.list, d)
	if !h.served {
		q.rest = slices.Insert(q.rest, 0, h)
	}
	if q.waits++; q.waits > maxRestWaits {
		q.noteLate(d.at)
		q.removeRest(q.largest(), 0)
	}
}

// isCopy reports whether two datagrams of one class are the same request of the same sender.
func isCopy(a, b datagram) bool {
	return a.from == b.from && len(a.data) >= wire.HeaderSize && len(b.data) >= wire.HeaderSize &&
		string(a.data[:wire.HeaderSize]) == string(b.data[:wire.HeaderSize])
}

// largest returns the host of which most waits; of several the last one.
func (q *Intake) largest() int {
	most := 0
	for i, h := range q.rest {
		if len(h.list) >= len(q.rest[most].list) {
			most = i
		}
	}
	return most
}

// removeRest drops datagram j of host i, and the host if that was its last one.
func (q *Intake) removeRest(i, j int) {
	h := q.rest[i]
	q.drop(ClassRest, h.list[j])
	h.list = slices.Delete(h.list, j, j+1)
	q.waits--
	if len(h.list) == 0 {
		q.rest = slices.Delete(q.rest, i, i+1)
	}
}

func (q *Intake) drop(class Class, d datagram) {
	q.shed[class]++
	q.Done(d.data)
}

// Next takes the datagram that is to be processed next. Its bytes are given back to Done.
func (q *Intake) Next(now time.Duration) (class Class, from wamble.Peer, b []byte, ok bool) {
	for class := range q.first {
		w := &q.first[class]
		if w.next < len(w.list) {
			d := w.list[w.next]
			w.list[w.next] = datagram{}
			if w.next++; w.next == len(w.list) {
				w.list, w.next = w.list[:0], 0
			}
			return Class(class), d.from, d.data, true
		}
	}
	q.age(now)
	if len(q.rest) == 0 {
		return 0, wamble.Peer{}, nil, false
	}
	h := q.rest[0]
	last := len(h.list) - 1
	d := h.list[last]
	h.list = h.list[:last]
	q.waits--
	q.rest = slices.Delete(q.rest, 0, 1)
	if h.served = true; last > 0 {
		q.rest = append(q.rest, h)
	}
	return ClassRest, d.from, d.data, true
}

// age drops what is too old of the rest.
func (q *Intake) age(now time.Duration) {
	for i := len(q.rest) - 1; i >= 0; i-- {
		h := q.rest[i]
		for len(h.list) > 0 && now-h.list[0].at > strainedAge {
			q.noteLate(now)
			if now-h.list[0].at <= maxRestAge {
				break
			}
			q.removeRest(i, 0)
		}
	}
}

// noteLate notes that more of the rest waits than can be processed in time.
func (q *Intake) noteLate(now time.Duration) {
	if now-q.late > strainedAge {
		q.strained = now
	}
	q.late = now
}

// OnlyCookies reports whether the rest has been more than can be processed for a while: then its hellos are answered
// with cookies alone.
func (q *Intake) OnlyCookies(now time.Duration) bool {
	return now-q.late <= strainedAge && q.late-q.strained >= strainedForLong
}

// Len returns how many datagrams wait.
func (q *Intake) Len() int {
	n := q.waits
	for i := range q.first {
		n += len(q.first[i].list) - q.first[i].next
	}
	return n
}

// Done gives the bytes of a datagram back that Next has returned.
func (q *Intake) Done(b []byte) {
	if len(q.spare) < maxRestWaits {
		q.spare = append(q.spare, b[:0])
	}
}

// Shed returns how many datagrams of a class were dropped.
func (q *Intake) Shed(class Class) uint64 { return q.shed[class] }

func (q *Intake) copyOf(b []byte) []byte {
	var to []byte
	if last := len(q.spare) - 1; last >= 0 {
		to, q.spare = q.spare[last], q.spare[:last]
	}
	return append(to, b...)
}
