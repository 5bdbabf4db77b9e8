package server

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"wamble/internal/guard"
	"wamble/internal/host"
)

// clusterStatusTimeout bounds the answers of other nodes to a status question.
const clusterStatusTimeout = 2 * time.Second

// nodeStatus returns the state of this node for the status of the cluster.
func (s *Server) nodeStatus(ctx context.Context) host.NodeStatus {
	status := s.Status(ctx)
	n := host.NodeStatus{Name: nodeName(s.o.Config), Version: s.o.Handoff.Version}
	if at := s.meshAddress.Load(); at != nil {
		n.Address = *at
	}
	n.Sum(&status)
	return n
}

// clusterStatus returns the state of all live nodes, and the partitions without a holder.
func (s *Server) clusterStatus(ctx context.Context) (c host.Cluster) {
	self := s.nodeStatus(ctx)
	self.Self = true
	c.Nodes = append(c.Nodes, self)
	if !s.isPartitioned() {
		return c
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(ctx, clusterStatusTimeout)
	defer cancel()
	for name, address := range s.partitionOwners.liveNodes() {
		if name == self.Name {
			continue
		}
		all.Go(func() {
			guard.Run("a question to another machine", func() {
				n := s.lastKnownNode(name, address)
				var said host.NodeStatus
				if err := s.router.ask(ctx, name, "node", nil, &said); err != nil {
					n.Error = err.Error()
				} else {
					said.Name, said.Address = n.Name, n.Address
					n = said
				}
				mu.Lock()
				defer mu.Unlock()
				c.Nodes = append(c.Nodes, n)
			}, s.reportPanic)
		})
	}
	all.Wait()
	slices.SortFunc(c.Nodes, func(a, b host.NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	for part := range s.partitionCount() {
		node, _, _ := s.partitionOwners.owner(part)
		if node == "" && !slices.ContainsFunc(c.Nodes, func(n host.NodeStatus) bool { return slices.Contains(n.Parts, part) }) {
			c.Free = append(c.Free, part)
		}
	}
	return c
}

// lastKnownNode returns what this node knows of another one without asking it.
func (s *Server) lastKnownNode(name, address string) host.NodeStatus {
	n := host.NodeStatus{Name: name, Address: address, Parts: []int{}}
	for part := range s.partitionCount() {
		if node, _, _ := s.partitionOwners.owner(part); node != name {
			continue
		}
		n.Parts = append(n.Parts, part)
		for _, sup := range s.supervisors() {
			n.Players += s.rebalancer.peers.counts(sup.name).count(part).Players
		}
	}
	return n
}
