package loop

import (
	"slices"
	"sync"

	"wamble/internal/profile"
)

// mail is what other goroutines have to tell one life of a profile. What comes
// often and replaces what came before it (how far journal and store are) is one
// value; the rest is a list, in the order in which it came.
type mail struct {
	wake func() // makes the loop look

	mu      sync.Mutex
	inputs  []profile.Input
	news    int    // how many of inputs there are up to the last news of other profiles
	gate    uint64 // durable up to here, with the message that says so
	seq     uint64
	applied uint64 // the store has everything up to here
	arrived chan struct{}
	// taken is what take last returned a pointer to. It belongs to the loop.
	taken profile.Applied
}

func newMail(wake func()) *mail { return &mail{wake: wake, arrived: make(chan struct{}, 1)} }

// post leaves an input.
func (m *mail) post(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.mu.Unlock()
	m.signal()
}

// hear leaves news of another profile or shard.
func (m *mail) hear(in profile.Input) {
	m.mu.Lock()
	m.inputs = append(m.inputs, in)
	m.news = len(m.inputs)
	m.mu.Unlock()
	m.signal()
}

// hasNews reports whether there are news that nobody took.
func (m *mail) hasNews() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.news > 0
}

// takeNews appends the news that have come, and what came before them, as an answer of the
// store that does not have them. They go before the packets: a player may have been told of
// them, and then asked here.
func (m *mail) takeNews(dst []profile.Input) []profile.Input {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.inputs[:m.news]...)
	m.inputs = slices.Delete(m.inputs, 0, m.news)
	m.news = 0
	return dst
}

// durable says that the journal is durable up to a gate, and that seq is the
// last message of it. Gate 0 gates nothing.
func (m *mail) durable(gate, seq uint64) {
	if gate == 0 {
		return
	}
	m.mu.Lock()
	m.gate, m.seq = gate, seq
	m.mu.Unlock()
	m.signal()
}

// appliedTo says how far the store has come. Nobody waits for that, so the loop
// is not woken.
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

// takeDurable returns how far the journal is durable, if that is new.
func (m *mail) takeDurable() (d profile.Durable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gate != 0 {
		d = profile.Durable{Gate: m.gate, Seq: m.seq}
		m.gate = 0
	}
	return d
}

// take appends everything else that has come. The inputs are good until the next take.
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
