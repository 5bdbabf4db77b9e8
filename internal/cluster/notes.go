package cluster

import (
	"strings"
	"sync"
)

// Notes queues the notes that the log has received until they are applied.
type Notes struct {
	mu   sync.Mutex // guards list, and is held briefly, so that heartbeats are not delayed
	list []note     // received, not yet sorted

	applyMu sync.Mutex // guards what follows
	unread  []note     // batches that are not applied yet
	paused  bool       // applying is paused, as during a handoff
	applied int64      // version of the last batch applied, also before a handoff
}

// note is a row that all nodes receive with a heartbeat when it has changed.
type note struct {
	version     int64
	name, value string
}

// Add adds a note.
func (n *Notes) Add(version int64, name, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, note{version, name, value})
}

func (n *Notes) drain() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// SetPaused pauses or resumes the applying of messages.
func (n *Notes) SetPaused(on bool) {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	n.paused = on
}

// Paused reports whether the applying of messages is paused.
func (n *Notes) Paused() bool {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	return n.paused
}

// LastApplied returns the version of the last batch that was applied.
func (n *Notes) LastApplied() int64 {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	return n.applied
}

// StartAfter sets the version of the last batch that the process before a handoff applied.
func (n *Notes) StartAfter(version int64) { n.applied = version }

// Apply calls messages for each batch of messages, unless they are paused or were applied
// before a handoff, and other for each note without messages.
func (n *Notes) Apply(messages, other func(name, value string)) {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	for _, note := range n.drain() {
		if strings.HasPrefix(note.name, MessagePrefix) {
			n.unread = append(n.unread, note)
		} else {
			other(note.name, note.value)
		}
	}
	if n.paused {
		return
	}
	for _, l := range n.unread {
		if l.version > n.applied {
			n.applied = l.version
			messages(l.name, l.value)
		}
	}
	n.unread = nil
}
