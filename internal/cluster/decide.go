package cluster

import (
	"fmt"
	"slices"
	"time"

	"wamble/internal/store/postgres/pglog"
)

// View is what a node knows after a heartbeat. Times are of one monotonic clock.
type View struct {
	Self     string
	Away     error         // why the journal's database does not answer; nil if it does
	Nodes    []Node        // those that live, also this one
	Parts    []Partition   // by index
	Changing bool          // a reload or a handoff is under way on this node
	Drain    *Drain        // nil unless this node is to stop
	LastMove time.Duration // when this node began or ended to claim or release a partition last
}

// Node is a node that lives.
type Node struct {
	Name      string
	Reachable bool          // the others can connect with it
	Draining  bool          // it is to stop: it leaves its partitions to others, and claims none
	Changing  bool          // a reload or a handoff is under way there: it claims none now
	StableAt  time.Duration // from when on partitions move to it
}

// Partition is a partition of the journal.
type Partition struct {
	Holder    string        // by the database: a node that may be dead; "" if none holds it
	Free      bool          // a claim would succeed
	Successor string        // the node that may claim first; "" if any may
	FreeSince time.Duration // when this node saw first that it is free
	Here      Place
}

// Place is what this node has of a partition.
type Place int

const (
	NotHeld Place = iota // nothing
	Held                 // it is held and served
	Moving               // it is being claimed or released
	Lost                 // it is served, and another node has claimed it
)

// Drain is the state of a node that is to stop. It announces that with its next heartbeat, so that
// it gets no more partitions, and releases its partitions to the other nodes one after another,
// while its ports go on. Partitions that are left over, as on the last node, end with the server.
type Drain struct {
	Deadline time.Duration
	Done     bool // Decide has said Drained
}

// Verb says what an Action does.
type Verb int

const (
	Claim   Verb = iota // claim Part and serve it
	Release             // end Part and release it to the node To, which may claim first
	Drop                // end Part, which another node has claimed
	Drained             // nothing is left to release before the stop
	Wait                // do nothing until the next heartbeat; Why is what it waits for
)

// Action is something to be done after a heartbeat.
type Action struct {
	Do   Verb
	Part int
	To   string
	Why  string
}

func (a Action) String() string {
	switch a.Do {
	case Claim:
		return fmt.Sprintf("claim %d", a.Part)
	case Release:
		return fmt.Sprintf("release %d to %s", a.Part, a.To)
	case Drop:
		return fmt.Sprintf("drop %d", a.Part)
	case Drained:
		return "drained"
	}
	return "wait for " + a.Why
}

func wait(format string, args ...any) Action {
	return Action{Do: Wait, Why: fmt.Sprintf(format, args...)}
}

// Decide returns what a node does after a heartbeat. It is the only place where nodes decide who
// holds which partition. testdata/decide.txt has its cases.
func Decide(v View, now time.Duration) (actions []Action) {
	switch {
	case v.Drain != nil && v.Drain.Done:
		return nil
	case v.Drain != nil && (v.Away != nil || now > v.Drain.Deadline):
		return []Action{{Do: Drained}}
	case v.Away != nil:
		return []Action{wait("the journal's database: %v", v.Away)}
	case v.Changing: // what is claimed could not be served before the end of the change
		return []Action{wait("the end of a reload or handoff")}
	}
	// Drop what another node has claimed. Claim what is reserved for this node, or was its own.
	holders := make([]string, len(v.Parts))
	moving := false
	for k, p := range v.Parts {
		holders[k] = p.holder(v.Self)
		moving = moving || p.Here == Moving
		if p.Here == Lost {
			actions, moving = append(actions, Action{Do: Drop, Part: k}), true
		}
		reserved, before := p.Successor == v.Self, p.Holder == v.Self && v.Drain == nil // it may have just left it
		if p.Here == NotHeld && p.Free && (reserved || before) {
			actions, moving, holders[k] = append(actions, Action{Do: Claim, Part: k}), true, v.Self
		}
	}
	n := v.classify(now)
	if !slices.Contains(n.alive, v.Self) {
		return append(actions, wait("a heartbeat of its own, the last one was late"))
	}
	if v.Drain != nil {
		return append(actions, v.releaseNext(now, n, holders, moving))
	}
	// Share the free partitions among the nodes that stay.
	claims, waits := v.share(now, n, holders)
	if actions = append(actions, claims...); moving || len(claims) > 0 {
		return append(actions, waits...)
	}
	// Move one partition to where it belongs, unless one moves already.
	part, to, ok := nextMove(holders, n.alive, n.stable)
	if !n.joined {
		part, to, ok = nextToLeader(holders, n.alive)
	}
	switch {
	case !ok || v.Parts[part].Here != Held:
	case len(n.leaving) > 0:
		waits = append(waits, wait("%s, which stops or reloads, before a partition moves", n.leaving[0]))
	default:
		actions = append(actions, Action{Do: Release, Part: part, To: to})
	}
	return append(actions, waits...)
}

// holder returns the node that holds a partition, as far as the node self knows; "" if none does.
func (p Partition) holder(self string) string {
	switch {
	case p.Here != NotHeld:
		return self
	case p.Free || p.Successor != "":
		return ""
	}
	return p.Holder
}

// nodeNames has the names of the nodes by what they may do.
type nodeNames struct {
	alive   []string
	stay    []string // those that may claim partitions
	stable  []string // those among stay that partitions may move to
	leaving []string // those that drain or change
	joined  bool     // the nodes can connect with each other; otherwise one of them has all partitions
}

func (v View) classify(now time.Duration) (n nodeNames) {
	for _, node := range v.Nodes {
		n.alive = append(n.alive, node.Name)
		n.joined = n.joined || node.Reachable
		if node.Draining || node.Changing || v.Drain != nil && node.Name == v.Self {
			n.leaving = append(n.leaving, node.Name)
			continue
		}
		n.stay = append(n.stay, node.Name)
		if now >= node.StableAt {
			n.stable = append(n.stable, node.Name)
		}
	}
	return n
}

// claimDelay is how long a node leaves a free partition to each better suited one.
const claimDelay = 3 * time.Second

// share returns the claims of free partitions that suit this node, or that no better suited node has
// claimed in its turn, and for what it waits otherwise.
func (v View) share(now time.Duration, n nodeNames, holders []string) (claims, waits []Action) {
	sharing := n.stay
	if !n.joined {
		sharing = []string{leaderOf(holders, n.stay)}
	}
	free := slices.Clone(holders)
	for k, p := range v.Parts {
		if p.reserved() {
			free[k] = p.Successor // it counts as claimed there
		}
	}
	to := assignNodes(free, sharing)
	for k, p := range v.Parts {
		if holders[k] != "" {
			if !n.joined && holders[k] != v.Self {
				waits = append(waits, wait("%s, which holds partition %d", holders[k], k))
			}
			continue
		}
		rank := slices.Index(rankNodes(k, n.stay), v.Self)
		turn := p.FreeSince + claimDelay*time.Duration(rank+1)
		switch {
		case p.reserved():
			waits = append(waits, wait("%s, for which partition %d is reserved", p.Successor, k))
		case p.Free && (to[k] == v.Self || rank >= 0 && now >= turn):
			claims = append(claims, Action{Do: Claim, Part: k})
		case p.Free && to[k] != "":
			waits = append(waits, wait("%s, to which partition %d is left", to[k], k))
		default:
			waits = append(waits, wait("a heartbeat that says who holds partition %d", k))
		}
	}
	return claims, waits
}

// reserved reports whether another node may claim the partition first.
func (p Partition) reserved() bool { return p.Here == NotHeld && p.Successor != "" && !p.Free }

// successorTimeout is how long a draining node waits for the next holder to claim a partition.
const successorTimeout = 2 * time.Second

// releaseNext releases the next partition of a draining node to one of the nodes that stay, after
// the one before was claimed there: to a stable one, or if there is none to any.
func (v View) releaseNext(now time.Duration, n nodeNames, holders []string, moving bool) Action {
	part := slices.IndexFunc(v.Parts, func(p Partition) bool { return p.Here == Held })
	others := slices.ContainsFunc(n.alive, func(name string) bool { return name != v.Self && !v.drains(name) })
	waiting := slices.Index(holders, "")
	switch {
	case moving:
		return wait("the partition that moves")
	case !others:
		return Action{Do: Drained}
	case waiting >= 0 && now-v.LastMove < successorTimeout:
		return wait("the new holder of partition %d", waiting)
	case part < 0:
		return Action{Do: Drained}
	case len(n.stay) == 0:
		return wait("the other machines, which reload")
	}
	successors := n.stable
	if len(successors) == 0 {
		successors = n.stay
	}
	left := slices.Clone(holders)
	for k, holder := range left {
		if holder == v.Self {
			left[k] = ""
		}
	}
	to := assignNodes(left, successors)[part]
	if !n.joined {
		to = leaderOf(holders, n.stay)
	}
	return Action{Do: Release, Part: part, To: to}
}

// drains reports whether a node is to stop.
func (v View) drains(name string) bool {
	return slices.ContainsFunc(v.Nodes, func(n Node) bool { return n.Name == name && n.Draining })
}

// NewView returns the view of a node after a heartbeat. Places has what the node has of each
// partition; marks are what the others announce of themselves.
func NewView(self string, seen pglog.ClusterView, places []Place, marks Marks) View {
	v := View{Self: self, Away: seen.Err}
	for _, n := range seen.Nodes {
		v.Nodes = append(v.Nodes, Node{Name: n.Name, Reachable: n.Address != "",
			Draining: slices.Contains(marks.Draining, n.Name), Changing: slices.Contains(marks.Changing, n.Name)})
	}
	for k, p := range seen.Parts {
		v.Parts = append(v.Parts, Partition{Holder: p.Holder, Free: p.Free, Successor: p.Successor, Here: places[k]})
	}
	return v
}
