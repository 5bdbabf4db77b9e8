package profile

import "wamble"

// owing is the sessions outside memory that have won something, with the gate of it: until that is settled,
// the store's answer about them lacks it.
type owing struct {
	until map[wamble.SessionID]uint64
	queue []owed // in the order of their gates
	// parked are the loads whose answers came too early. They are asked again.
	parked []*load
}

type owed struct {
	session wamble.SessionID
	gate    uint64
}

// maxOwing bounds owing. A player who is dropped from it may see what they won only after their next load.
const maxOwing = 1 << 16

func newOwing() owing { return owing{until: map[wamble.SessionID]uint64{}} }

// add records that a session outside memory has won something under a gate.
func (o *owing) add(id wamble.SessionID, gate uint64) {
	if len(o.queue) == maxOwing {
		o.drop()
	}
	o.until[id] = gate
	o.queue = append(o.queue, owed{id, gate})
}

// drop removes the oldest entry.
func (o *owing) drop() {
	if first := o.queue[0]; o.until[first.session] == first.gate {
		delete(o.until, first.session)
	}
	o.queue = o.queue[1:]
}

// early reports whether the store may have answered before it had settled all wins of the session in the
// answer. If so, it parks the load.
func (o *owing) early(l *load, in *Loaded) bool {
	if l.Subject != SessionOf || in.Outcome != Found || in.Session == nil || o.until[in.Session.ID] <= l.settled {
		return false
	}
	l.found = in.Session.ID
	o.parked = append(o.parked, l)
	return true
}

// askAgain repeats parked loads whose sessions are settled by now, or all while the store is away, and
// drops entries that no load under way needs.
func (p *Profile) askAgain(out *Output) {
	o := &p.owing
	if len(o.queue) == 0 && len(o.parked) == 0 {
		return
	}
	waiting := o.parked[:0]
	for _, l := range o.parked {
		switch {
		case p.loads.byID[l.ID] != l: // dropped: the journal has failed meanwhile
		case o.until[l.found] > p.gates.settled && !p.storeAway:
			waiting = append(waiting, l)
		default:
			l.settled = p.gates.settled
			out.Loads = append(out.Loads, l.Load)
		}
	}
	clear(o.parked[len(waiting):])
	o.parked = waiting
	settled := p.gates.settled
	for _, l := range p.loads.byID {
		settled = min(settled, l.settled)
	}
	for len(o.queue) > 0 && o.queue[0].gate <= settled {
		o.drop()
	}
}
