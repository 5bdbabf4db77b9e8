package loop

import (
	"slices"
	"sync"

	"wamble/internal/profile"
)

// mailbox carries inputs from other goroutines to one instance of a profile. The positions of journal and store,
// of which only the newest counts, are one value each; the rest is a list in order of arrival.
type mailbox struct {
	wake func() // wakes the loop from its wait for packets

	mu           sync.Mutex
	inputs       []profile.Input
	eventsEnd    int    // inputs up to and including the last events of other profiles
	durableIndex uint64 // the journal is durable up to here, and up to message seq
	seq          uint64
	applied      uint64 // the store has everything up to here
	arrived      chan struct{}
	// taken is the input that take last returned a pointer to. Only the loop uses it.
	taken profile.Applied
}

func newMailbox(wake func()) *mailbox { return &mailbox{wake: wake, arrived: make(chan struct{}, 1)} }

// put appends an input.
func (m *mailbox) put(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.mu.Unlock()
	m.signal()
}

// putEvents appends events of another profile or shard.
func (m *mailbox) putEvents(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.eventsEnd = len(m.inputs)
	m.mu.Unlock()
	m.signal()
}

// hasEvents reports whether events wait.
func (m *mailbox) hasEvents() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.eventsEnd > 0
}

// takeEvents appends the events that have come, and what came before them, such as an older answer of the store.
// The caller puts them before the packets: another profile may have answered a player after these events, and
// the player then asked here.
func (m *mailbox) takeEvents(dst []profile.Input) []profile.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.inputs[:m.eventsEnd]...)
	m.inputs = slices.Delete(m.inputs, 0, m.eventsEnd)
	m.eventsEnd = 0
	return dst
}

// setDurable records that the journal is durable up to a durable index, and that seq is its last message. Index 0
// is ignored.
func (m *mailbox) setDurable(durableIndex, seq uint64) {
	if durableIndex == 0 {
		return
	}
	m.mu.Lock()
	m.durableIndex, m.seq = durableIndex, seq
	m.mu.Unlock()
	m.signal()
}

// setApplied records how far the store has come. It does not wake the loop, since nothing waits for it.
func (m *mailbox) setApplied(seq uint64) {
	m.mu.Lock()
	m.applied = seq
	m.mu.Unlock()
}

func (m *mailbox) signal() {
	select {
	case m.arrived <- struct{}{}:
	default:
	}
	m.wake()
}

// takeDurable returns how far the journal is durable, or zero if that is not new.
func (m *mailbox) takeDurable() (d profile.Durable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.durableIndex != 0 {
		d = profile.Durable{Index: m.durableIndex, Seq: m.seq}
		m.durableIndex = 0
	}
	return d
}

// take appends all other inputs. They are valid until the next take.
func (m *mailbox) take(dst []profile.Input) []profile.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.applied != 0 {
		m.taken = profile.Applied{Seq: m.applied}
		dst = append(dst, &m.taken)
		m.applied = 0
	}
	dst = append(dst, m.inputs...)
	clear(m.inputs)
	m.inputs, m.eventsEnd = m.inputs[:0], 0
	return dst
}
