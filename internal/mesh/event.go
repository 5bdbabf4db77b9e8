package mesh

import (
	"fmt"
	"sync"
)

// maxWanted is how many names of events a node may want.
const maxWanted = 256

// wanted are the names of events that the other end of a connection wants.
type wanted struct {
	mu    sync.RWMutex
	names map[string]struct{}
}

func (w *wanted) has(name string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.names[name]
	return ok
}

// want notes which events the other end wants.
func (c *conn) want(f *Frame) error {
	w := &c.wanted
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.Kind == KindUnsubscribe {
		delete(w.names, string(f.Name))
		return nil
	}
	if w.names[string(f.Name)] = struct{}{}; len(w.names) > maxWanted {
		return fmt.Errorf("%w: it wants more than %d kinds of events", ErrFrame, maxWanted)
	}
	return nil
}

// Subscribe says that the events of a name are wanted here, of all nodes, or no more.
func (m *Mesh) Subscribe(name string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, was := m.wants[name]; was == on {
		return
	}
	f := Frame{Kind: KindSubscribe, Name: []byte(name)}
	if on {
		m.wants[name] = struct{}{}
	} else {
		f.Kind = KindUnsubscribe
		delete(m.wants, name)
	}
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil {
			c.send(&f)
		}
	}
}

// Wanted reports whether another node wants the events of a name.
func (m *Mesh) Wanted(name string) bool {
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil && c.wanted.has(name) {
			return true
		}
	}
	return false
}

// Publish tells the nodes that want the events of a name. An event that still waits
// for a slow node is replaced by the next of its ID.
func (m *Mesh) Publish(name string, id uint64, data []byte) {
	if len(name) > MaxName || len(data) > MaxData {
		return
	}
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil && c.wanted.has(name) && c.box.publish(name, id, data) == errLost {
			m.counts.lost.Add(1)
		}
	}
}
