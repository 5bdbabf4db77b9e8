package cluster

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

// rankNodes returns nodes in the order in which they suit a part, the best first.
func rankNodes(part int, nodes []string) []string {
	ranked := slices.Clone(nodes)
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(score(part, b), score(part, a)), cmp.Compare(a, b))
	})
	return slices.Compact(ranked)
}

// assignNodes returns a node for every part, given the present holders; all are "" if there are no nodes. A node
// keeps what it holds up to its share: the parts divided by the nodes, plus one for those that hold most
// while there is a remainder.
func assignNodes(holders, nodes []string) []string {
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
			return cmp.Or(cmp.Compare(slices.Index(rankNodes(a, nodes), node), slices.Index(rankNodes(b, nodes), node)),
				cmp.Compare(a, b))
		})
		keeps = keeps[:min(len(keeps), room[node])]
		for _, part := range keeps {
			to[part] = node
		}
		room[node] -= len(keeps)
	}
	for part := range to {
		for _, node := range rankNodes(part, nodes) {
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

// nextMove returns the part that must move next, and its new node; ok is false if none must. None moves while a
// part has no holder that is alive. Alive are the nodes that are alive, steady those that may get parts.
func nextMove(holders, alive, steady []string) (part int, to string, ok bool) {
	nodes := slices.Clone(steady)
	for _, node := range holders {
		if !slices.Contains(alive, node) {
			return 0, "", false
		}
		nodes = append(nodes, node)
	}
	for part, to := range assignNodes(holders, nodes) {
		if to != holders[part] {
			return part, to, true
		}
	}
	return 0, "", false
}

// leaderOf returns the node among alive that must get everything: the holder of the first part whose holder
// is alive, or else the one that suits the first part best; "" if none is alive.
func leaderOf(holders, alive []string) string {
	for _, node := range holders {
		if slices.Contains(alive, node) {
			return node
		}
	}
	if len(alive) == 0 {
		return ""
	}
	return rankNodes(0, alive)[0]
}

// nextToLeader returns the next part that must move to the leader; ok is false if there is none.
func nextToLeader(holders, alive []string) (part int, to string, ok bool) {
	to = leaderOf(holders, alive)
	for part, node := range holders {
		if node != to && slices.Contains(alive, node) {
			return part, to, true
		}
	}
	return 0, "", false
}
