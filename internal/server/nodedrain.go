package server

import (
	"slices"
	"time"

	"wamble/internal/placement"
	"wamble/internal/store/postgres/pglog"
)

// nodeDrain is the state of a node that stops. It announces that with its next heartbeat,
// so that it gets no more partitions, and leaves its partitions to the other nodes one after
// another, while its ports and the mesh go on. Partitions that are left over, as on the last
// node, end with the server.
type nodeDrain struct {
	deadline time.Time     // deadline
	done     chan struct{} // closed by rebalanceLoop when nothing is left to do

	// Used by rebalanceLoop:
	finished    bool          // done is closed
	lastRelease time.Duration // time of the last move, since the start of the server
}

// drainingMarker stands in the place of a profile in the report of a node that withdraws. No
// profile has this name. Older versions read it as a profile without shards.
const drainingMarker = "/withdrawing"

// successorTimeout is how long a node that withdraws waits for the next holder to claim a partition.
const successorTimeout = 2 * time.Second

// drainNode moves the partitions of this node to others, for at most patience.
func (s *Server) drainNode(patience time.Duration) {
	if s.rebalancer.stop == nil || patience <= 0 {
		return
	}
	s.stopServing()
	drain := &nodeDrain{deadline: time.Now().Add(patience), done: make(chan struct{})}
	s.rebalancer.nodeDrain.Store(drain)
	s.sharedJournal.log.Hasten(s.sharedJournal.name)
	select {
	case <-drain.done:
	case <-s.rebalancer.ended:
	case <-time.After(patience):
		s.log.Warn("there was no time to leave all parts of the world to other machines; they claim what is left")
	}
}

// mayClaim reports whether this node claims a free partition that is reserved for it. While it
// withdraws it claims none that it held last, because that may be one it has just left.
func (d *nodeDrain) mayClaim(view pglog.PartitionView) bool {
	return d == nil || !d.finished && !view.Self
}

// finish closes done. rebalanceLoop calls it when nothing is left to do.
func (d *nodeDrain) finish() {
	if !d.finished {
		d.finished = true
		close(d.done)
	}
}

// releaseNext moves the next partition to one of the nodes that stay, after the previous one
// was claimed there. Heirs are the steady ones among stay; if there are none, any of stay
// may get it. Busy says that a partition is being adopted or left on this node.
func (s *Server) releaseNext(drain *nodeDrain, holders, stay, successors []string, busy, joined bool) {
	self, now := nodeName(s.o.Config), time.Since(s.started)
	if drain.finished {
		return
	}
	if busy {
		drain.lastRelease = now
		return
	}
	if len(stay) == 0 {
		drain.finish()
		return
	}
	if slices.Contains(holders, "") && now-drain.lastRelease < successorTimeout {
		return
	}
	part := slices.Index(holders, self)
	if part < 0 || time.Now().After(drain.deadline) {
		drain.finish()
		return
	}
	if len(successors) == 0 {
		successors = stay
	}
	free := slices.Clone(holders)
	for k, holder := range free {
		if holder == self {
			free[k] = ""
		}
	}
	to := placement.Assign(free, successors)[part]
	if !joined {
		to = placement.Leader(holders, stay)
	}
	s.log.Info("a part of the world moves: this machine stops", "part", part, "to", to)
	drain.lastRelease = now // busy may be false again before the next call
	s.releasePartition(s.partitionOf(part), to, true)
}
