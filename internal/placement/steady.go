package placement

import (
	"slices"
	"time"
)

// The time that a node must be alive before it gets parts of others. It doubles, up to longestWait, each
// time the node was gone, and is firstWait again after the node was alive, or gone, for calm.
const (
	firstWait   = 3 * time.Second
	longestWait = 2 * time.Minute
	calm        = 10 * time.Minute
)

// Steady decides which nodes have been alive long enough. Its zero value knows no nodes.
type Steady struct {
	nodes map[string]*life
}

// life is what is known of one node.
type life struct {
	alive bool
	since time.Duration // when it came or went
	wait  time.Duration
}

// Look records which nodes are alive at a time of any monotonic clock, and returns those that have been
// alive long enough.
func (s *Steady) Look(now time.Duration, alive []string) (steady []string) {
	if s.nodes == nil {
		s.nodes = map[string]*life{}
	}
	for _, name := range alive {
		n := s.nodes[name]
		switch {
		case n == nil:
			n = &life{alive: true, since: now, wait: firstWait}
			s.nodes[name] = n
		case !n.alive:
			n.alive, n.since = true, now
			n.wait = min(2*n.wait, longestWait)
		case now-n.since >= calm:
			n.wait = firstWait
		}
		if now-n.since >= n.wait {
			steady = append(steady, name)
		}
	}
	for name, n := range s.nodes {
		switch here := slices.Contains(alive, name); {
		case n.alive && !here:
			n.alive, n.since = false, now
		case !n.alive && now-n.since >= calm:
			delete(s.nodes, name)
		}
	}
	return steady
}

// turn is how long a node leaves an orphaned part to each better suited one.
const turn = 3 * time.Second

// Claims returns the parts that a node must claim: orphaned ones that are assigned to it, or that no better
// suited node has claimed in its turn. Orphaned is how long each part has had no holder, negative if it has
// one.
func Claims(holders, alive []string, orphaned []time.Duration, self string) (parts []int) {
	orphans := slices.Clone(holders)
	for part := range orphans {
		if orphaned[part] >= 0 {
			orphans[part] = ""
		}
	}
	to := Assign(orphans, alive)
	for part, since := range orphaned {
		if since < 0 {
			continue
		}
		rank := slices.Index(Rank(part, alive), self)
		if to[part] == self || rank >= 0 && since >= turn*time.Duration(rank+1) {
			parts = append(parts, part)
		}
	}
	return parts
}
