package mesh

import (
	"fmt"
	"sync"
)

// maxSubscriptions bounds the names of events that a node can subscribe to.
const maxSubscriptions = 256

// subscriptions has the names of events that the other end of a connection subscribes to.
type subscriptions struct {
	mu    sync.RWMutex
	names map[string]struct{}
}

func (w *subscriptions) has(name string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.names[name]
	return ok
}

// subscribe handles a subscribe or unsubscribe frame.
func (c *conn) subscribe(f *Frame) error {
	name := string(f.Name)
	if f.Kind == KindUnsubscribe {
		c.subscriptions.remove(name)
		return nil
	}
	fresh, err := c.subscriptions.add(name)
	if fresh && c.m.o.Subscribed != nil {
		c.m.o.Subscribed(name)
	}
	return err
}

func (w *subscriptions) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.names, name)
}

// add adds a name, and reports whether it is new.
func (w *subscriptions) add(name string) (fresh bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, was := w.names[name]; was {
		return false, nil
	}
	if len(w.names) == maxSubscriptions {
		return false, fmt.Errorf("%w: it wants more than %d kinds of events", ErrFrame, maxSubscriptions)
	}
	w.names[name] = struct{}{}
	return true, nil
}

// Subscribe subscribes to the events of a name from all nodes, or with false unsubscribes.
func (m *Mesh) Subscribe(name string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, was := m.subscriptions[name]; was == on {
		return
	}
	f := Frame{Kind: KindSubscribe, Name: []byte(name)}
	if on {
		m.subscriptions[name] = struct{}{}
	} else {
		f.Kind = KindUnsubscribe
		delete(m.subscriptions, name)
	}
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil {
			c.send(&f)
		}
	}
}

// Wanted reports whether another node subscribes to the events of a name.
func (m *Mesh) Wanted(name string) bool {
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil && c.subscriptions.has(name) {
			return true
		}
	}
	return false
}

// Publish sends an event to the nodes that subscribe to its name. An event that still waits
// for a slow node is replaced by the next one with the same ID. An event that is too long is
// dropped.
func (m *Mesh) Publish(name string, id uint64, data []byte) {
	if len(name) > MaxName || len(data) > MaxData {
		return
	}
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil && c.subscriptions.has(name) && c.box.publish(name, id, data) == errLost {
			m.counts.lost.Add(1)
		}
	}
}
