package cluster

import (
	"slices"
	"time"
)

// The time that a node must be alive before it gets parts of others. It doubles, up to maxStableAfter, each
// time the node was gone, and is firstStableAfter again after the node was alive, or gone, for forgiveAfter.
const (
	firstStableAfter = 3 * time.Second
	maxStableAfter   = 2 * time.Minute
	forgiveAfter     = 10 * time.Minute
)

// stableNodes decides which nodes have been alive long enough. Its zero value knows no nodes.
type stableNodes struct {
	nodes map[string]*nodeState
}

// nodeState is what is known of one node.
type nodeState struct {
	alive bool
	since time.Duration // when it came or went
	wait  time.Duration
}

// update records which nodes are alive at a time of any monotonic clock, and returns those that have been
// alive long enough.
func (s *stableNodes) update(now time.Duration, alive []string) (steady []string) {
	if s.nodes == nil {
		s.nodes = map[string]*nodeState{}
	}
	for _, name := range alive {
		n := s.nodes[name]
		switch {
		case n == nil:
			n = &nodeState{alive: true, since: now, wait: firstStableAfter}
			s.nodes[name] = n
		case !n.alive:
			n.alive, n.since = true, now
			n.wait = min(2*n.wait, maxStableAfter)
		case now-n.since >= forgiveAfter:
			n.wait = firstStableAfter
		}
		if now-n.since >= n.wait {
			steady = append(steady, name)
		}
	}
	for name, n := range s.nodes {
		switch here := slices.Contains(alive, name); {
		case n.alive && !here:
			n.alive, n.since = false, now
		case !n.alive && now-n.since >= forgiveAfter:
			delete(s.nodes, name)
		}
	}
	return steady
}

// claimDelay is how long a node leaves an orphaned part to each better suited one.
const claimDelay = 3 * time.Second

// claimable returns the parts that a node must claim: orphaned ones that are assigned to it, or that no better
// suited node has claimed in its turn. Orphaned is how long each part has had no holder, negative if it has
// one.
func claimable(holders, alive []string, orphaned []time.Duration, self string) (parts []int) {
	orphans := slices.Clone(holders)
	for part := range orphans {
		if orphaned[part] >= 0 {
			orphans[part] = ""
		}
	}
	to := assignNodes(orphans, alive)
	for part, since := range orphaned {
		if since < 0 {
			continue
		}
		rank := slices.Index(rankNodes(part, alive), self)
		if to[part] == self || rank >= 0 && since >= claimDelay*time.Duration(rank+1) {
			parts = append(parts, part)
		}
	}
	return parts
}
