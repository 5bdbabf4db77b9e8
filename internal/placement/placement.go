// Package placement says which node of an installation holds which part of the world. It
// knows nothing but names, numbers and times: whoever asks tells it who lives and who
// holds what.
//
//   - A part is a journal with the shards of its number. Its holder is a node, "" while
//     nobody has it.
//   - [Assign] gives every part a node: by rendezvous hashing, so that all nodes say the
//     same, with a bound on how many one node gets, so that few parts are shared evenly
//     too. What a node has within its share stays there.
//   - [Next] is the part that moves next: one at a time, and only to a node that is steady.
//   - Nodes that do not reach each other cannot share: their [Leader] has everything, and
//     [Gather] brings it there.
//   - [Steady] knows which nodes live for long enough. One that comes and goes waits
//     longer each time.
package placement

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
)

// score is how well a node suits a part: the highest wins.
func score(part int, node string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, node)
	io.WriteString(h, "/"+strconv.Itoa(part))
	x := h.Sum64() // names and numbers differ in few bits
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Rank returns nodes in the order in which they suit a part, the best first.
func Rank(part int, nodes []string) []string {
	ranked := slices.Clone(nodes)
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(score(part, b), score(part, a)), cmp.Compare(a, b))
	})
	return slices.Compact(ranked)
}

// Assign returns a node for every part, given who holds it now; all are "" if there are
// no nodes. A node keeps what it holds unless that is more than its share: the parts
// divided by the nodes, and one more for those that have most if that leaves a rest.
func Assign(holders, nodes []string) []string {
	nodes = slices.Compact(slices.Sorted(slices.Values(nodes)))
	to := make([]string, len(holders))
	if len(nodes) == 0 {
		return to
	}
	held := map[string][]int{}
	for part, node := range holders {
		if slices.Contains(nodes, node) {
			held[node] = append(held[node], part)
		}
	}
	room := shares(len(holders), nodes, held)
	for _, node := range nodes {
		keeps := held[node]
		slices.SortStableFunc(keeps, func(a, b int) int {
			return cmp.Or(cmp.Compare(slices.Index(Rank(a, nodes), node), slices.Index(Rank(b, nodes), node)), cmp.Compare(a, b))
		})
		keeps = keeps[:min(len(keeps), room[node])]
		for _, part := range keeps {
			to[part] = node
		}
		room[node] -= len(keeps)
	}
	for part := range to {
		for _, node := range Rank(part, nodes) {
			if to[part] == "" && room[node] > 0 {
				to[part] = node
				room[node]--
			}
		}
	}
	return to
}

// shares is how many of the parts each node may have.
func shares(parts int, nodes []string, held map[string][]int) map[string]int {
	most := slices.Clone(nodes)
	slices.SortStableFunc(most, func(a, b string) int { return cmp.Compare(len(held[b]), len(held[a])) })
	room := map[string]int{}
	for i, node := range most {
		if room[node] = parts / len(nodes); i < parts%len(nodes) {
			room[node]++
		}
	}
	return room
}

// Next returns the part that is to move next, and where to; ok is false if none is. While
// a part has no holder that lives, none moves. Alive are the nodes that live, steady those
// that may be given something.
func Next(holders, alive, steady []string) (part int, to string, ok bool) {
	nodes := slices.Clone(steady)
	for _, node := range holders {
		if !slices.Contains(alive, node) {
			return 0, "", false
		}
		nodes = append(nodes, node)
	}
	for part, to := range Assign(holders, nodes) {
		if to != holders[part] {
			return part, to, true
		}
	}
	return 0, "", false
}

// Leader returns who of the nodes that live is to have everything: who holds the first
// part that one of them holds, or else the one that suits the first part best; "" if none
// lives.
func Leader(holders, alive []string) string {
	for _, node := range holders {
		if slices.Contains(alive, node) {
			return node
		}
	}
	if len(alive) == 0 {
		return ""
	}
	return Rank(0, alive)[0]
}

// Gather returns the part that is to go to the leader next; ok is false if none is.
func Gather(holders, alive []string) (part int, to string, ok bool) {
	to = Leader(holders, alive)
	for part, node := range holders {
		if node != to && slices.Contains(alive, node) {
			return part, to, true
		}
	}
	return 0, "", false
}
