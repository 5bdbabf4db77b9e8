package journal

import (
	"cmp"
	"fmt"
	"slices"

	"wamble/internal/intent"
)

// Origin says where an intent of a plan came from.
type Origin struct {
	Seq   uint64 // of the message
	Index int    // in the message
}

// Plan is the intents of consecutive messages, prepared for one transaction: coalesced, and in an order in
// which every row exists before it is needed.
type Plan struct {
	Through uint64 // the last message of the run
	Intents []intent.Intent
	Origins []Origin // of Intents, by index
}

// Limits bounds a plan.
type Limits struct {
	Intents int // at least 1
	Bytes   int // of estimated payload; at least 1
}

// backlogFactor is how much larger than usual plans are when the waiting intents would fill backlogPlans of
// them: with thousands of moves in one transaction, each board and each reservation is written once instead
// of each time.
const (
	backlogFactor = 512
	backlogPlans  = 4
)

// Adapt adapts the limits to the number of waiting intents: small transactions under light load, so that
// rows appear soon; large ones under load, and very large ones for a backlog.
func (l Limits) Adapt(waiting int) Limits {
	if waiting >= backlogPlans*l.Intents {
		return Limits{backlogFactor * l.Intents, backlogFactor * l.Bytes}
	}
	adaptive := 128
	switch {
	case waiting >= 1024:
		adaptive = 512
	case waiting >= 256:
		adaptive = 256
	}
	l.Intents = min(l.Intents, adaptive)
	return l
}

// Malformed is returned when a message has a record that cannot be decoded. No record of the message can be
// trusted.
type Malformed struct {
	Seq uint64
	Err error
}

func (e *Malformed) Error() string { return fmt.Sprintf("message %d: %v", e.Seq, e.Err) }
func (e *Malformed) Unwrap() error { return e.Err }

// Planner makes plans. It reuses its buffers.
type Planner struct {
	items   []item
	records []record
	written map[key]struct{}
}

// item is an intent of a plan with its sort key: place of its kind, locality, and origin.
type item struct {
	in           intent.Intent
	place        int // rank of the kind
	major, minor uint64
	origin       Origin
}

// Make takes messages from the front of the queue, as many as fit into the limits and at least one, and
// returns the plan and how many it took. A message is never split: its effects appear together. Errors:
// *Malformed.
func (p *Planner) Make(queue []Message, limits Limits) (Plan, int, error) {
	if len(queue) == 0 {
		return Plan{}, 0, nil
	}
	var b barrier
	taken, intents, size := 0, 0, 0
	for i := range queue {
		m := &queue[i]
		if taken > 0 && (intents+m.intents > limits.Intents || size+m.bytes > limits.Bytes || !b.admits(m)) {
			break
		}
		b.add(m)
		taken, intents, size = taken+1, intents+m.intents, size+m.bytes
	}
	plan, err := p.arrange(queue[:taken], b.closed)
	return plan, taken, err
}

// arrange makes the plan of messages: coalesced, and sorted by kind and by locality within the kind, unless
// keep says that the intents must keep their order.
func (p *Planner) arrange(messages []Message, keep bool) (Plan, error) {
	p.items = p.items[:0]
	if p.written == nil {
		p.written = map[key]struct{}{}
	}
	clear(p.written)
	for i := range slices.Backward(messages) {
		if err := p.collect(&messages[i]); err != nil {
			return Plan{}, &Malformed{messages[i].Seq, err}
		}
	}
	slices.Reverse(p.items)
	if !keep {
		slices.SortFunc(p.items, compare)
	}
	plan := Plan{
		Through: messages[len(messages)-1].Seq,
		Intents: make([]intent.Intent, len(p.items)), Origins: make([]Origin, len(p.items)),
	}
	for i := range p.items {
		plan.Intents[i], plan.Origins[i] = p.items[i].in, p.items[i].origin
	}
	clear(p.items)
	return plan, nil
}

// collect adds the intents of a message that no later intent overwrites, last first.
func (p *Planner) collect(m *Message) error {
	p.records = p.records[:0]
	for _, r := range m.records() {
		p.records = append(p.records, r)
	}
	for i, r := range slices.Backward(p.records) {
		if k, overwrites := r.key(); overwrites {
			if _, newer := p.written[k]; newer {
				continue
			}
			p.written[k] = struct{}{}
		}
		in, err := r.intent(i)
		if err != nil {
			return err
		}
		major, minor := r.row.Locality(in)
		p.items = append(p.items, item{in, r.row.Kind.Place(), major, minor, Origin{m.Seq, i}})
	}
	return nil
}

func compare(a, b item) int {
	switch {
	case a.place != b.place:
		return cmp.Compare(a.place, b.place)
	case a.major != b.major:
		return cmp.Compare(a.major, b.major)
	case a.minor != b.minor:
		return cmp.Compare(a.minor, b.minor)
	case a.origin.Seq != b.origin.Seq:
		return cmp.Compare(a.origin.Seq, b.origin.Seq)
	}
	return cmp.Compare(a.origin.Index, b.origin.Index)
}
