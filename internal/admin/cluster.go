package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"wamble"
)

// Cluster is the state of all nodes, by name: of those that live, and for a day of those that were lost. A server without a cluster is a single node.
type Cluster struct {
	Nodes []NodeStatus `json:"nodes"`
	// Free has the partitions without a holder.
	Free []int `json:"free,omitempty"`
}

// NodeStatus is the state of a node.
type NodeStatus struct {
	Name    string         `json:"name"`
	Self    bool           `json:"self,omitempty"`    // the node that was asked
	Address string         `json:"address,omitempty"` // its mesh address
	Error   string         `json:"error,omitempty"`   // why it did not answer; the rest is what the asked node knows
	Lost    *time.Time     `json:"lost,omitempty"`    // it ended without leaving in order, and said last then that it lives
	Ready   bool           `json:"ready"`
	Version string         `json:"version,omitempty"`
	Uptime  wamble.Seconds `json:"uptime"`
	Parts   []int          `json:"parts"`
	Players int            `json:"players"` // present
	Moves   uint64         `json:"moves"`   // since its start
	Depth   uint64         `json:"queue_depth"`
	Lag     wamble.Seconds `json:"queue_age"` // of the oldest message that the database lacks
	Dead    uint64         `json:"dead_letters"`
}

// Sum sets the figures of a node from its status.
func (n *NodeStatus) Sum(s *Status) {
	n.Ready, n.Uptime, n.Dead = s.Ready(), s.Uptime, s.Journal.DeadLetters
	for i, p := range s.Parts {
		if p.Here {
			n.Parts = append(n.Parts, i)
		}
	}
	for _, p := range s.Profiles {
		n.Players += p.Present
		n.Moves += p.Moves
		n.Depth += p.Depth
		n.Lag = max(n.Lag, p.Age)
	}
}

// state returns the node's state in words.
func (n *NodeStatus) state() string {
	switch {
	case n.Lost != nil:
		return "lost since " + n.Lost.Format(time.RFC3339)
	case n.Error != "":
		return "does not answer: " + n.Error
	case !n.Ready:
		return "does not serve players"
	}
	return "serves"
}

// clusterStatus returns the state of all nodes.
func clusterStatus(ctx context.Context, h *Host, _ *Call) (any, error) { return h.Cluster(ctx), nil }

// askClusterStatus asks the server for 'wamble status --cluster'.
func askClusterStatus(ctx context.Context, dir string) (any, error) {
	c := &Cluster{}
	return c, Ask(ctx, dir, "cluster", nil, c)
}

// print writes a table of the nodes.
func (c *Cluster) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MACHINE\tSTATE\tADDRESS\tPARTS\tPLAYERS\tMOVES\tLAG\tDEAD LETTERS\tVERSION")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		name := n.Name
		if n.Self {
			name += " (this one)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%v\t%d\t%s\n", name, n.state(), cmp.Or(n.Address, "-"),
			cmp.Or(numbers(n.Parts), "-"),
			n.Players, n.Moves, n.Lag.Duration(), n.Dead, cmp.Or(n.Version, "-"))
	}
	if err := t.Flush(); err != nil || len(c.Free) == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "On no machine: parts %s. Their players wait; if that lasts, look at the logs.\n",
		numbers(c.Free))
	return err
}

func numbers(list []int) string {
	slices.Sort(list)
	return strings.Trim(fmt.Sprint(list), "[]")
}
