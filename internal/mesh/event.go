package mesh

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// MaxData bounds the data of a question, an answer or an event, in bytes.
	MaxData = 240 << 10
	// maxEvents bounds the events with different IDs that wait for a node.
	maxEvents = 16 << 10
)

// subscription is the queue of the events of a name for a node: the newest of each ID.
type subscription struct {
	queue
	name   string
	events []event
	newest map[uint64]int // index in events
}

type event struct {
	id   uint64
	data []byte
}

func newSubscription(name string) *subscription {
	s := &subscription{name: name, newest: map[uint64]int{}, queue: queue{ready: make(chan struct{}, 1)}}
	s.take = func(b []byte) []byte {
		for _, e := range s.events {
			b = binary.BigEndian.AppendUint32(b, uint32(len(e.data)))
			b = append(b, e.data...)
		}
		clear(s.events)
		clear(s.newest)
		s.events = s.events[:0]
		return b
	}
	return s
}

// add queues an event, and replaces a queued one with the same ID. It reports whether there was room.
func (s *subscription) add(id uint64, data []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, waits := s.newest[id]; waits {
		s.events[i].data = append(s.events[i].data[:0], data...)
		return true
	}
	if len(s.events) == maxEvents {
		return false
	}
	s.newest[id] = len(s.events)
	s.events = append(s.events, event{id, append([]byte(nil), data...)})
	s.signal()
	return true
}

// readEvents reads events until an error.
func readEvents(r io.Reader, deliver func(data []byte)) error {
	var size [4]byte
	var data []byte
	for {
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > MaxData {
			return fmt.Errorf("an event of %d bytes: %w", n, ErrFrame)
		}
		data = append(data[:0], make([]byte, n)...)
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		deliver(data)
	}
}

// Wanted reports whether another node subscribes to the events of a name.
func (m *Mesh) Wanted(name string) bool {
	m.subscribersMu.RLock()
	defer m.subscribersMu.RUnlock()
	for s := range m.subscribers {
		if s.name == name {
			return true
		}
	}
	return false
}

// Publish sends an event to the nodes that subscribe to its name. An event that still waits for a slow
// node is replaced by the next one with the same ID. An event that is too long is dropped.
func (m *Mesh) Publish(name string, id uint64, data []byte) {
	if len(data) > MaxData {
		return
	}
	m.subscribersMu.RLock()
	defer m.subscribersMu.RUnlock()
	for s := range m.subscribers {
		if s.name == name && !s.add(id, data) {
			m.lost.Add(1)
		}
	}
}

// Subscribe subscribes to the events of a name from all nodes, or with false unsubscribes.
func (m *Mesh) Subscribe(name string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.subscriptions[name] == on {
		return
	}
	if on {
		m.subscriptions[name] = true
	} else {
		delete(m.subscriptions, name)
	}
	for _, n := range *m.nodes.Load() {
		if l := n.link.Load(); l != nil {
			l.subscribe(name, on)
		}
	}
}
