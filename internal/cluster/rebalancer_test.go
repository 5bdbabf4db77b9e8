package cluster

import (
	"slices"
	"testing"
	"time"

	"wamble/internal/store/postgres/pglog"
)

// TestDecide: what node a does after a heartbeat, of two partitions, when all nodes have lived for
// a minute.
func TestDecide(t *testing.T) {
	t.Parallel()
	here := LocalPartition{Here: true}
	self, free := pglog.PartitionView{Holder: "a", Self: true}, pglog.PartitionView{Free: true}
	of := func(node string) pglog.PartitionView { return pglog.PartitionView{Holder: node} }
	leaving := func() *NodeDrain { return &NodeDrain{Deadline: time.Hour, Done: make(chan struct{})} }
	for name, tc := range map[string]struct {
		nodes string // each has a mesh address
		parts [2]pglog.PartitionView
		local [2]LocalPartition
		drain *NodeDrain
		want  []Action
		done  bool
	}{
		"alone, it claims what is free": {nodes: "a", parts: [2]pglog.PartitionView{free, free},
			want: []Action{{Part: 0, Claim: true}, {Part: 1, Claim: true}}},
		"alone, it keeps what it has": {nodes: "a", parts: [2]pglog.PartitionView{self, self},
			local: [2]LocalPartition{here, here}},
		"each has one": {nodes: "ab", parts: [2]pglog.PartitionView{self, of("b")},
			local: [2]LocalPartition{here}},
		"one moves to a node without any": {nodes: "ab", parts: [2]pglog.PartitionView{self, self},
			local: [2]LocalPartition{here, here}, want: []Action{{Part: 1, To: "b"}}},
		"none moves while one is being claimed": {nodes: "ab", parts: [2]pglog.PartitionView{self, free},
			local: [2]LocalPartition{here, {Busy: true}}},
		"one is reserved for this node": {
			nodes: "ab", parts: [2]pglog.PartitionView{{Free: true, Successor: "a"}, of("b")},
			want: []Action{{Part: 0, Claim: true}},
		},
		"one was claimed by another node": {
			nodes: "ab", parts: [2]pglog.PartitionView{of("b"), of("b")},
			local: [2]LocalPartition{{Here: true, Lost: true}}, want: []Action{{Part: 0}},
		},
		"its own heartbeat was late": {nodes: "b", parts: [2]pglog.PartitionView{free, of("b")}},
		"it withdraws, and leaves the first": {nodes: "ab", parts: [2]pglog.PartitionView{self, self},
			local: [2]LocalPartition{here, here}, drain: leaving(), want: []Action{{Part: 0, To: "b"}}},
		"it withdraws, and one is on its way": {nodes: "ab", parts: [2]pglog.PartitionView{self, self},
			local: [2]LocalPartition{{Here: true, Busy: true}, here}, drain: leaving()},
		"it withdraws, and has nothing left": {nodes: "ab", parts: [2]pglog.PartitionView{of("b"), of("b")},
			drain: leaving(), done: true},
		"it withdraws, and nobody else is here": {nodes: "a", parts: [2]pglog.PartitionView{self, self},
			local: [2]LocalPartition{here, here}, drain: leaving(), done: true},
	} {
		r := NewRebalancer("a", 2)
		h := Heartbeat{Local: tc.local[:], Drain: tc.drain}
		for _, n := range tc.nodes {
			h.Seen.Nodes = append(h.Seen.Nodes, pglog.Node{Name: string(n), Address: "mesh"})
		}
		r.stable.update(0, []string{"a", "b"})
		h.Now, h.Seen.Parts = time.Minute, tc.parts[:]
		if got := r.Decide(h); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
		if tc.drain != nil && tc.drain.finished != tc.done {
			t.Errorf("%s: withdrawn: %t, want %t", name, tc.drain.finished, tc.done)
		}
	}
}
