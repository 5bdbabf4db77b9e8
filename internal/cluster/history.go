package cluster

import (
	"slices"
	"time"
)

// History is what a node remembers of earlier heartbeats: how long each node has lived, and how long
// each partition has been free.
type History struct {
	nodes     map[string]*nodeState
	freeSince map[int]time.Duration // of the partitions that are free
	lastMove  time.Duration
}

// nodeState is what is known of one node.
type nodeState struct {
	alive bool
	since time.Duration // when it came or went
	wait  time.Duration // how long it must live before partitions move to it
}

// The time that a node must live before partitions move to it. It doubles, up to maxStableAfter, each
// time the node was gone, and is firstStableAfter again after the node lived, or was gone, for forgiveAfter.
const (
	firstStableAfter = 3 * time.Second
	maxStableAfter   = 24 * time.Second // so that a restarted node has its share within 30 s
	forgiveAfter     = 10 * time.Minute
)

// Complete records a heartbeat, and adds to its view what depends on earlier ones.
func (h *History) Complete(v *View, now time.Duration) {
	if h.nodes == nil {
		h.nodes, h.freeSince = map[string]*nodeState{}, map[int]time.Duration{}
	}
	if v.Away != nil {
		return // it says nothing about nodes and partitions
	}
	for i := range v.Nodes {
		n := h.came(v.Nodes[i].Name, now)
		v.Nodes[i].StableAt = n.since + n.wait
	}
	h.left(v.Nodes, now)
	for k := range v.Parts {
		p := &v.Parts[k]
		if since, known := h.freeSince[k]; !p.Free || p.Here != NotHeld {
			delete(h.freeSince, k)
		} else if p.FreeSince = since; !known {
			p.FreeSince, h.freeSince[k] = now, now
		}
		if p.Here == Moving {
			h.lastMove = now
		}
	}
	v.LastMove = h.lastMove
}

// Moved records that a partition begins to move.
func (h *History) Moved(now time.Duration) { h.lastMove = now }

// came records that a node lives.
func (h *History) came(name string, now time.Duration) *nodeState {
	n := h.nodes[name]
	switch {
	case n == nil:
		n = &nodeState{alive: true, since: now, wait: firstStableAfter}
		h.nodes[name] = n
	case !n.alive:
		n.alive, n.since = true, now
		n.wait = min(2*n.wait, maxStableAfter)
	case now-n.since >= forgiveAfter:
		n.wait = firstStableAfter
	}
	return n
}

// left records which nodes live no more, and forgets those that went long ago.
func (h *History) left(alive []Node, now time.Duration) {
	for name, n := range h.nodes {
		switch here := slices.ContainsFunc(alive, func(n Node) bool { return n.Name == name }); {
		case n.alive && !here:
			n.alive, n.since = false, now
		case !n.alive && now-n.since >= forgiveAfter:
			delete(h.nodes, name)
		}
	}
}
