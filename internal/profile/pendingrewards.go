package profile

import "wamble"

// pendingRewards is the sessions outside memory that have won something, with the durable index of it: until the
// store has it, the store's answer about them lacks it.
type pendingRewards struct {
	until map[wamble.SessionID]uint64
	queue []pendingReward // in the order of their durable indexes
	// parked are the loads whose answers came too early. They are asked again.
	parked []*load
}

type pendingReward struct {
	session      wamble.SessionID
	durableIndex uint64
}

// maxPendingRewards bounds pendingRewards. A player who is dropped from it may see what they won only after their
// next load.
const maxPendingRewards = 1 << 16

func newPendingRewards() pendingRewards { return pendingRewards{until: map[wamble.SessionID]uint64{}} }

// add records that a session outside memory has won something under a durable index.
func (r *pendingRewards) add(id wamble.SessionID, durableIndex uint64) {
	if len(r.queue) == maxPendingRewards {
		r.drop()
	}
	r.until[id] = durableIndex
	r.queue = append(r.queue, pendingReward{id, durableIndex})
}

// drop removes the oldest entry.
func (r *pendingRewards) drop() {
	if first := r.queue[0]; r.until[first.session] == first.durableIndex {
		delete(r.until, first.session)
	}
	r.queue = r.queue[1:]
}

// tooEarly reports whether the store may have answered before it had all wins of the session in the
// answer. If so, it parks the load.
func (r *pendingRewards) tooEarly(l *load, in *Loaded) bool {
	if l.Subject != SessionOf || in.Outcome != Found || in.Session == nil || r.until[in.Session.ID] <= l.storedIndex {
		return false
	}
	l.found = in.Session.ID
	r.parked = append(r.parked, l)
	return true
}

// retryParked repeats parked loads of whose wins the store has all by now, or all while the store is away, and
// drops entries that no load under way needs.
func (p *Profile) retryParked(out *Output) {
	o := &p.pendingRewards
	if len(o.queue) == 0 && len(o.parked) == 0 {
		return
	}
	waiting := o.parked[:0]
	for _, l := range o.parked {
		switch {
		case p.loads.byID[l.ID] != l: // dropped: the journal has failed meanwhile
		case o.until[l.found] > p.watermarks.stored && !p.storeAway:
			waiting = append(waiting, l)
		default:
			l.storedIndex = p.watermarks.stored
			out.Loads = append(out.Loads, l.Load)
		}
	}
	clear(o.parked[len(waiting):])
	o.parked = waiting
	stored := p.watermarks.stored
	for _, l := range p.loads.byID {
		stored = min(stored, l.storedIndex)
	}
	for len(o.queue) > 0 && o.queue[0].durableIndex <= stored {
		o.drop()
	}
}
