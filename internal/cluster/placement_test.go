package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func nodes(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("node%d", i+1))
	}
	return list
}

func loads(to []string) map[string]int {
	n := map[string]int{}
	for _, node := range to {
		n[node]++
	}
	return n
}

// TestBalanced: the nodes' numbers of parts differ by one at most, for any number of parts.
func TestBalanced(t *testing.T) {
	for _, parts := range []int{1, 2, 4, 16, 64} {
		for n := 1; n <= 9; n++ {
			got := loads(assignNodes(make([]string, parts), nodes(n)))
			for _, node := range nodes(n) {
				if have := got[node]; have < parts/n || have > (parts+n-1)/n {
					t.Errorf("%d parts over %d nodes: %s has %d", parts, n, node, have)
				}
			}
		}
	}
}

// TestSame: all nodes compute the same assignment, in whatever order they list the nodes.
func TestSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := nodes(1 + rng.IntN(6))
		holders := make([]string, 16)
		for i := range holders {
			holders[i] = append(list, "", "gone")[rng.IntN(len(list)+2)]
		}
		want := assignNodes(holders, list)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := assignNodes(holders, append(list, list[0])); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// TestFewMoves: a new node gets its share and nothing else moves; when a node goes, only its
// parts get another holder.
func TestFewMoves(t *testing.T) {
	for n := 1; n <= 8; n++ {
		before := assignNodes(make([]string, 64), nodes(n))
		if again := assignNodes(before, nodes(n)); !slices.Equal(again, before) {
			t.Errorf("%d nodes: parts move although nothing has changed: %v, then %v", n, before, again)
		}
		after := assignNodes(before, nodes(n+1))
		moved := 0
		for part, node := range after {
			if node == before[part] {
				continue
			}
			if moved++; node != fmt.Sprint("node", n+1) {
				t.Errorf("part %d moved from %s to %s when node%d came", part, before[part], node, n+1)
			}
		}
		if want := 64 / (n + 1); moved != want {
			t.Errorf("%d parts moved to the one that came to %d, want %d", moved, n, want)
		}
		for part, node := range assignNodes(after, nodes(n)) {
			if node != after[part] && after[part] != fmt.Sprint("node", n+1) {
				t.Errorf("part %d moved from %s to %s when node%d went", part, after[part], node, n+1)
			}
		}
	}
}

// TestNext: parts move one after another until every node has its share; none moves while one
// has no holder, nor to a node that is not steady.
func TestNext(t *testing.T) {
	two := nodes(2)
	holders := []string{"node1", "node1", "node1", "node1"}
	if _, _, ok := nextMove(holders, two, two[:1]); ok {
		t.Error("a part moves to a node that is not steady")
	}
	for moved := 0; ; moved++ {
		part, to, ok := nextMove(holders, two, two)
		if !ok {
			if got := loads(holders); moved != 2 || got["node1"] != 2 {
				t.Errorf("after %d moves: %v", moved, got)
			}
			break
		}
		holders[part] = ""
		if _, _, ok := nextMove(holders, two, two); ok {
			t.Error("a second part moves while one is under way")
		}
		holders[part] = to
	}
	if _, _, ok := nextMove([]string{"gone", "node1"}, two, two); ok {
		t.Error("a part moves while one belongs to a node that is gone")
	}
}

// TestClaims: the free partitions are shared by the remaining nodes, each claimed by one at
// first and by others if it stays free.
func TestClaims(t *testing.T) {
	for free, want := range map[time.Duration]int{0: 1, 3 * claimDelay: 3} {
		claimed := map[int]int{}
		for _, self := range nodes(3) {
			v := View{Self: self, Parts: slices.Repeat([]Partition{{Holder: "gone", Free: true}}, 16)}
			for _, name := range nodes(3) {
				v.Nodes = append(v.Nodes, Node{Name: name, Reachable: true})
			}
			for _, a := range Decide(v, free) {
				if a.Do == Claim {
					claimed[a.Part]++
				}
			}
		}
		for part := range 16 {
			if claimed[part] != want {
				t.Errorf("part %d, free for %v, is claimed by %d nodes, want %d", part, free, claimed[part], want)
			}
		}
	}
}

// TestStable: partitions move to a node after a while, later if it comes and goes, and as at first
// when it has stayed.
func TestStable(t *testing.T) {
	var h History
	now := time.Duration(0)
	see := func(nodes ...Node) (wait time.Duration) {
		v := View{Nodes: nodes}
		if h.Complete(&v, now); len(nodes) > 0 {
			wait = nodes[0].StableAt - now
		}
		return wait
	}
	for _, want := range []time.Duration{firstStableAfter, 2 * firstStableAfter, 4 * firstStableAfter} {
		if got := see(Node{Name: "a"}); got != want {
			t.Errorf("it waits for %v, want %v", got, want)
		}
		now += time.Second
		see()
		now += time.Second
	}
	for range 20 {
		see(Node{Name: "a"})
		now += time.Minute
		see()
	}
	if got := see(Node{Name: "a"}); got != maxStableAfter {
		t.Errorf("it waits for %v, want %v at most", got, maxStableAfter)
	}
	now += forgiveAfter
	see(Node{Name: "a"})
	see()
	if got := see(Node{Name: "a"}); got != 2*firstStableAfter {
		t.Errorf("after a calm time it waits for %v, want %v", got, 2*firstStableAfter)
	}
}

// TestGather: machines that do not reach each other leave everything to one of them.
func TestGather(t *testing.T) {
	for _, tc := range []struct {
		holders, alive []string
		leader         string
		part           int
		moves          bool
	}{
		{[]string{"", ""}, nil, "", 0, false},
		{[]string{"a", "a"}, []string{"a", "b"}, "a", 0, false},
		{[]string{"b", "a"}, []string{"a", "b"}, "b", 1, true},
		{[]string{"a", "b", ""}, []string{"b", "c"}, "b", 0, false}, // a is gone: its part is claimed
		{[]string{"", "", "c"}, []string{"b", "c"}, "c", 0, false},
	} {
		part, to, ok := nextToLeader(tc.holders, tc.alive)
		if leader := leaderOf(tc.holders, tc.alive); leader != tc.leader || ok != tc.moves || ok &&
			(part != tc.part || to != leader) {
			t.Errorf("%q of %q: leader %q, part %d to %q: %v", tc.holders, tc.alive, leader, part, to, ok)
		}
	}
	if one, other := leaderOf([]string{""}, []string{"a", "b"}),
		leaderOf([]string{""}, []string{"b", "a"}); one != other {
		t.Errorf("%q and %q: they do not agree", one, other)
	}
}
