package cluster

import (
	"slices"
	"time"

	"wamble/internal/store/postgres/pglog"
)

// Rebalancer decides after each heartbeat which partitions this node claims and releases.
type Rebalancer struct {
	self           string
	ownerlessSince []time.Duration // by index: since when the partition has no holder; negative if it has one
	stable         stableNodes
}

// NewRebalancer makes the Rebalancer of a node that has seen no heartbeat.
func NewRebalancer(self string, partitions int) *Rebalancer {
	return &Rebalancer{self: self, ownerlessSince: slices.Repeat([]time.Duration{-1}, partitions)}
}

// Heartbeat is what a node knows after a heartbeat.
type Heartbeat struct {
	Now     time.Duration // since the start of this process
	Seen    pglog.ClusterView
	Local   []LocalPartition // by index
	Leaving []string         // the other nodes that withdraw
	Drain   *NodeDrain       // nil unless this node withdraws
}

// LocalPartition is the state of a partition on this node.
type LocalPartition struct {
	Here bool // this node holds it
	Busy bool // it is being claimed or released here
	Lost bool // this node holds it, and another one has claimed it
}

// Action is a claim or a release of a partition by this node.
type Action struct {
	Part  int
	Claim bool
	To    string // for a release: the node that may claim first; "" if another node has claimed it
}

// NodeDrain is the state of a node that stops. It announces that with its next heartbeat,
// so that it gets no more partitions, and leaves its partitions to the other nodes one after
// another, while its ports and the mesh go on. Partitions that are left over, as on the last
// node, end with the server.
type NodeDrain struct {
	Deadline time.Duration // since the start of this process
	Done     chan struct{} // closed when nothing is left to do

	finished    bool          // Done is closed
	lastRelease time.Duration // when a partition was released last
}

// successorTimeout is how long a node that withdraws waits for the next holder to claim a partition.
const successorTimeout = 2 * time.Second

// mayClaim reports whether this node claims a free partition that is reserved for it. While it
// withdraws it claims none that it held last, because that may be one it has just left.
func (d *NodeDrain) mayClaim(view pglog.PartitionView) bool {
	return d == nil || !d.finished && !view.Self
}

// Finish closes Done, unless it is closed.
func (d *NodeDrain) Finish() {
	if !d.finished {
		d.finished = true
		close(d.Done)
	}
}

// Decide returns what this node does after a heartbeat.
func (r *Rebalancer) Decide(h Heartbeat) (actions []Action) {
	leaving := h.Leaving
	if h.Drain != nil {
		leaving = append(leaving, r.self)
	}
	leaves := func(node string) bool { return slices.Contains(leaving, node) }
	// Which nodes live, which of them stay, and whether any has a mesh address.
	var alive, stay []string
	joined := false
	for _, n := range h.Seen.Nodes {
		if alive = append(alive, n.Name); !leaves(n.Name) {
			stay = append(stay, n.Name)
		}
		joined = joined || n.Address != ""
	}
	steady := r.stable.update(h.Now, alive)
	// Who holds each partition. A free one that is reserved for this node is claimed, and
	// one that another node has claimed is released.
	holders, orphaned := make([]string, len(h.Local)), slices.Repeat([]time.Duration{-1}, len(h.Local))
	busy, claims := false, false
	for k, view := range h.Seen.Parts {
		here := h.Local[k]
		busy = busy || here.Busy
		switch {
		case here.Here || here.Busy:
			holders[k] = r.self
		case !view.Free && view.Successor == "":
			holders[k] = view.Holder
		case view.Free:
			if r.ownerlessSince[k] < 0 {
				r.ownerlessSince[k] = h.Now
			}
			if orphaned[k] = h.Now - r.ownerlessSince[k]; (view.Self || view.Successor == r.self) &&
				h.Drain.mayClaim(view) {
				actions, claims = append(actions, Action{Part: k, Claim: true}), true
				orphaned[k], holders[k] = -1, r.self
			}
		}
		if orphaned[k] < 0 {
			r.ownerlessSince[k] = -1
		}
		if here.Here && !here.Busy && here.Lost {
			busy = true
			actions = append(actions, Action{Part: k})
		}
	}
	if !slices.Contains(alive, r.self) {
		return actions // the own heartbeat was late
	}
	// A node that withdraws leaves its next partition, and claims none.
	if h.Drain != nil {
		successors := slices.DeleteFunc(steady, leaves)
		return append(actions, r.releaseNext(h, holders, stay, successors, busy || claims, joined)...)
	}
	// Free partitions are shared by the nodes that stay. Without a mesh one node has all.
	sharing := stay
	if !joined {
		sharing = []string{leaderOf(holders, stay)}
	}
	for _, k := range claimable(holders, sharing, orphaned, r.self) {
		busy = true
		actions = append(actions, Action{Part: k, Claim: true})
	}
	// At most one partition moves at a time, and none while a node withdraws.
	part, to, ok := nextMove(holders, alive, steady)
	if !joined {
		part, to, ok = nextToLeader(holders, alive)
	}
	if ok && !busy && len(leaving) == 0 && holders[part] == r.self && h.Local[part].Here {
		actions = append(actions, Action{Part: part, To: to})
	}
	return actions
}

// releaseNext releases the next partition to one of the nodes that stay, after the previous one
// was claimed there. Successors are the steady ones among stay; if there are none, any of stay
// may get it. Busy says that a partition is being claimed or released on this node.
func (r *Rebalancer) releaseNext(h Heartbeat, holders, stay, successors []string, busy, joined bool) []Action {
	drain := h.Drain
	if drain.finished {
		return nil
	}
	if busy {
		drain.lastRelease = h.Now
		return nil
	}
	if len(stay) == 0 {
		drain.Finish()
		return nil
	}
	if slices.Contains(holders, "") && h.Now-drain.lastRelease < successorTimeout {
		return nil
	}
	part := slices.Index(holders, r.self)
	if part < 0 || h.Now > drain.Deadline {
		drain.Finish()
		return nil
	}
	if len(successors) == 0 {
		successors = stay
	}
	free := slices.Clone(holders)
	for k, holder := range free {
		if holder == r.self {
			free[k] = ""
		}
	}
	to := assignNodes(free, successors)[part]
	if !joined {
		to = leaderOf(holders, stay)
	}
	drain.lastRelease = h.Now // busy may be false again before the next call
	return []Action{{Part: part, To: to}}
}
