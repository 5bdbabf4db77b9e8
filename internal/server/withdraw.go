package server

import (
	"slices"
	"time"

	"wamble/internal/placement"
	"wamble/internal/store/postgres/pglog"
)

// withdrawal is the state of a node that stops. It announces that with its next heartbeat,
// so that it gets no more partitions, and leaves its partitions to the other nodes one after
// another, while its ports and the mesh go on. Partitions that are left over, as on the last
// node, end with the server.
type withdrawal struct {
	until time.Time     // deadline
	done  chan struct{} // closed by keepPlaces when nothing is left to do

	// Used by keepPlaces:
	over bool          // done is closed
	left time.Duration // time of the last move, since the start of the server
}

// withdrawing stands in the place of a profile in the report of a node that withdraws. No
// profile has this name. Older versions read it as a profile without shards.
const withdrawing = "/withdrawing"

// heirTime is how long a node that withdraws waits for the next holder to claim a partition.
const heirTime = 2 * time.Second

// withdraw moves the partitions of this node to others, for at most patience.
func (s *Server) withdraw(patience time.Duration) {
	if s.placing.stop == nil || patience <= 0 {
		return
	}
	s.cease()
	w := &withdrawal{until: time.Now().Add(patience), done: make(chan struct{})}
	s.placing.withdrawal.Store(w)
	s.cluster.log.Hasten(s.cluster.name)
	select {
	case <-w.done:
	case <-s.placing.ended:
	case <-time.After(patience):
		s.log.Warn("there was no time to leave all parts of the world to other machines; they claim what is left")
	}
}

// takes reports whether this node claims a free partition that is reserved for it. While it
// withdraws it claims none that it held last, because that may be one it has just left.
func (w *withdrawal) takes(sight pglog.Sight) bool { return w == nil || !w.over && !sight.Self }

// end closes done. keepPlaces calls it when nothing is left to do.
func (w *withdrawal) end() {
	if !w.over {
		w.over = true
		close(w.done)
	}
}

// leaveNext moves the next partition to one of the nodes that stay, after the previous one
// was claimed there. Heirs are the steady ones among stay; if there are none, any of stay
// may get it. Busy says that a partition is being adopted or left on this node.
func (s *Server) leaveNext(w *withdrawal, holders, stay, heirs []string, busy, joined bool) {
	self, now := nodeName(s.o.Config), time.Since(s.started)
	if w.over {
		return
	}
	if busy {
		w.left = now
		return
	}
	if len(stay) == 0 {
		w.end()
		return
	}
	if slices.Contains(holders, "") && now-w.left < heirTime {
		return
	}
	part := slices.Index(holders, self)
	if part < 0 || time.Now().After(w.until) {
		w.end()
		return
	}
	if len(heirs) == 0 {
		heirs = stay
	}
	free := slices.Clone(holders)
	for k, holder := range free {
		if holder == self {
			free[k] = ""
		}
	}
	to := placement.Assign(free, heirs)[part]
	if !joined {
		to = placement.Leader(holders, stay)
	}
	s.log.Info("a part of the world moves: this machine stops", "part", part, "to", to)
	w.left = now // busy may be false again before the next call
	s.leavePart(s.partOf(part), to, true)
}
