// Package placement assigns the partitions of a cluster to its nodes. It knows only names, numbers
// and times; the caller says which nodes are alive and which partitions they hold.
//
//   - A partition (part) is a journal with the shards of its number. Its holder is a node, or ""
//     if none has it.
//   - [Assign] gives every partition a node: by rendezvous hashing, so that all nodes compute
//     the same, with a bound per node, so that few partitions are divided evenly, too. A node
//     keeps what it holds within its share.
//   - [Next] is the partition that moves next: one at a time, and only to a steady node.
//   - Nodes that do not reach each other cannot share: their [Leader] gets everything,
//     by [Gather].
//   - [StableNodes] decides which nodes have been alive long enough. A node that comes and
//     goes waits longer each time.
package placement

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
)

// score returns how well a node suits a part: the highest wins.
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

// Assign returns a node for every part, given the present holders; all are "" if there are no nodes. A node
// keeps what it holds up to its share: the parts divided by the nodes, plus one for those that hold most
// while there is a remainder.
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

// shares returns how many of the parts each node may have.
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

// Next returns the part that must move next, and its new node; ok is false if none must. None moves while a
// part has no holder that is alive. Alive are the nodes that are alive, steady those that may get parts.
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

// Leader returns the node among alive that must get everything: the holder of the first part whose holder
// is alive, or else the one that suits the first part best; "" if none is alive.
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

// Gather returns the next part that must move to the leader; ok is false if there is none.
func Gather(holders, alive []string) (part int, to string, ok bool) {
	to = Leader(holders, alive)
	for part, node := range holders {
		if node != to && slices.Contains(alive, node) {
			return part, to, true
		}
	}
	return 0, "", false
}
