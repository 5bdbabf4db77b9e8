package loop

import (
	"slices"
	"sync"

	"wamble/internal/profile"
)

// mail carries inputs from other goroutines to one life of a profile. The positions of journal and store,
// of which only the newest counts, are one value each; the rest is a list in order of arrival.
type mail struct {
	wake func() // wakes the loop from its wait for packets

	mu      sync.Mutex
	inputs  []profile.Input
	news    int    // inputs up to and including the last news of other profiles
	gate    uint64 // durable up to here, with the message that says so
	seq     uint64
	applied uint64 // the store has everything up to here
	arrived chan struct{}
	// taken is the input that take last returned a pointer to. Only the loop uses it.
	taken profile.Applied
}

func newMail(wake func()) *mail { return &mail{wake: wake, arrived: make(chan struct{}, 1)} }

// post appends an input.
func (m *mail) post(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.mu.Unlock()
	m.signal()
}

// hear appends news of another profile or shard.
func (m *mail) hear(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.news = len(m.inputs)
	m.mu.Unlock()
	m.signal()
}

// hasNews reports whether news waits.
func (m *mail) hasNews() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.news > 0
}

// takeNews appends the news that has come, and what came before it, such as an answer of the store that
// predates it. The caller puts it before the packets: a player may have been told of the news by another
// profile, and then asked here.
func (m *mail) takeNews(dst []profile.Input) []profile.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.inputs[:m.news]...)
	m.inputs = slices.Delete(m.inputs, 0, m.news)
	m.news = 0
	return dst
}

// durable records that the journal is durable up to a gate, and that seq is its last message. Gate 0 is
// ignored.
func (m *mail) durable(gate, seq uint64) {
	if gate == 0 {
		return
	}
	m.mu.Lock()
	m.gate, m.seq = gate, seq
	m.mu.Unlock()
	m.signal()
}

// appliedTo records how far the store has come. It does not wake the loop, since nothing waits for it.
func (m *mail) appliedTo(seq uint64) {
	m.mu.Lock()
	m.applied = seq
	m.mu.Unlock()
}

func (m *mail) signal() {
	select {
	case m.arrived <- struct{}{}:
	default:
	}
	m.wake()
}

// takeDurable returns how far the journal is durable, or zero if that is not new.
func (m *mail) takeDurable() (d profile.Durable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gate != 0 {
		d = profile.Durable{Gate: m.gate, Seq: m.seq}
		m.gate = 0
	}
	return d
}

// take appends all other mail. The inputs are valid until the next take.
func (m *mail) take(dst []profile.Input) []profile.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.applied != 0 {
		m.taken = profile.Applied{Seq: m.applied}
		dst = append(dst, &m.taken)
		m.applied = 0
	}
	dst = append(dst, m.inputs...)
	clear(m.inputs)
	m.inputs, m.news = m.inputs[:0], 0
	return dst
}
