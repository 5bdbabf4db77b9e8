package board

import "wamble"

// none is the slot of a board that is not in a heap.
const none = int32(-1)

// boardAlarm is the alarm of one board.
type boardAlarm struct {
	at   int64 // when the board must be checked, if it has a slot
	slot int32 // index in the heap, or none
}

// alarm is when a board must be checked: at its deadline or earlier, never later. A move makes the deadline
// later and leaves the heap as it is; Due delays an alarm that comes too early. So a board in play costs
// one update of the heap per timeout instead of one per move.
type alarm struct {
	at    int64 // a copy of the board's, so that comparisons do not touch boards
	board *Board
}

// alarms is a heap of alarms, earliest first. Ties are broken by the number of the board, so that the order
// is deterministic.
type alarms struct{ heap []alarm }

func (a *alarms) less(i, j int) bool {
	x, y := &a.heap[i], &a.heap[j]
	return x.at < y.at || x.at == y.at && x.board.id < y.board.id
}

func (a *alarms) swap(i, j int) {
	a.heap[i], a.heap[j] = a.heap[j], a.heap[i]
	a.heap[i].board.alarm.slot = int32(i)
	a.heap[j].board.alarm.slot = int32(j)
}

func (a *alarms) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !a.less(i, parent) {
			return
		}
		a.swap(i, parent)
		i = parent
	}
}

func (a *alarms) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			return
		}
		if child+1 < len(a.heap) && a.less(child+1, child) {
			child++
		}
		if !a.less(child, i) {
			return
		}
		a.swap(i, child)
		i = child
	}
}

// sooner makes sure that b is checked no later than at.
func (a *alarms) sooner(b *Board, at int64) {
	i := b.alarm.slot
	switch {
	case i == none:
		i = int32(len(a.heap))
		b.alarm.slot = i
		a.heap = append(a.heap, alarm{at, b})
	case at < b.alarm.at:
		a.heap[i].at = at
	default:
		return
	}
	b.alarm.at = at
	a.up(int(i))
}

// delay moves the first alarm to a later time.
func (a *alarms) delay(at int64) {
	a.heap[0].at, a.heap[0].board.alarm.at = at, at
	a.down(0)
}

func (a *alarms) remove(b *Board) {
	i := int(b.alarm.slot)
	if i < 0 {
		return
	}
	last := len(a.heap) - 1
	if i != last {
		a.swap(i, last)
	}
	a.heap[last] = alarm{}
	a.heap = a.heap[:last]
	b.alarm.slot = none
	if i < last {
		a.up(i)
		a.down(i)
	}
}

// deadline returns when a board becomes dormant, or its holder counts as gone. It reports false if the
// board has no deadline.
func (p *Pool) deadline(b *Board) (int64, bool) {
	switch b.status {
	case wamble.Reserved:
		return min(b.times.reserved+p.opts.Reservation.Microseconds(), b.times.lastSeen+p.holderTimeout(b)), true
	case wamble.Active:
		return b.times.moved + p.opts.Inactivity.Microseconds(), true
	}
	return 0, false
}
