package profile

import "wamble"

// owing is who has won something while not in memory, with the gate of it: until the
// store has settled that, what it says of them lacks it.
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

// maxOwing bounds the memory of owing. Who is forgotten by it may see what he won only
// when he comes the next time.
const maxOwing = 1 << 16

func newOwing() owing { return owing{until: map[wamble.SessionID]uint64{}} }

// add says that a session which is not in memory has won something by a gate.
func (o *owing) add(id wamble.SessionID, gate uint64) {
	if len(o.queue) == maxOwing {
		o.drop()
	}
	o.until[id] = gate
	o.queue = append(o.queue, owed{id, gate})
}

// drop forgets the oldest.
func (o *owing) drop() {
	if first := o.queue[0]; o.until[first.session] == first.gate {
		delete(o.until, first.session)
	}
	o.queue = o.queue[1:]
}

// early reports whether the store may have been asked before it had settled everything
// of the session that it tells, and keeps the load to be asked again.
func (o *owing) early(l *load, in *Loaded) bool {
	if l.Subject != SessionOf || in.Outcome != Found || in.Session == nil || o.until[in.Session.ID] <= l.settled {
		return false
	}
	l.found = in.Session.ID
	o.parked = append(o.parked, l)
	return true
}

// askAgain asks again for sessions of which the store has settled everything by now, or
// which it cannot tell any more, and forgets whom no load under way is about.
func (p *Profile) askAgain(out *Output) {
	o := &p.owing
	if len(o.queue) == 0 && len(o.parked) == 0 {
		return
	}
	waiting := o.parked[:0]
	for _, l := range o.parked {
		switch {
		case p.loads.byID[l.ID] != l: // forgotten: the journal has failed meanwhile
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
