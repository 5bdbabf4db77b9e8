package server

import (
	"maps"
	"slices"
	"sync/atomic"

	"wamble/internal/host"
)

// partitionOwners has the holders of the journal's partitions and the live nodes, as of the last
// heartbeat. It may be read concurrently.
type partitionOwners struct {
	current atomic.Pointer[[]location]        // by partition
	nodes   atomic.Pointer[map[string]string] // mesh addresses of the live nodes, by name
	// changed is called by set after a change; it may be nil.
	changed func()
}

// location is the holder of a partition.
type location struct {
	node    string // name of the holder; "" if there is none
	address string // mesh address of the holder; "" if it has none
	local   bool   // the holder is this node
}

// owner returns the holder of a partition, its mesh address, and whether it is this node.
// Before the first heartbeat there is no holder.
func (p *partitionOwners) owner(part int) (node, address string, here bool) {
	now := p.current.Load()
	if now == nil || part < 0 || part >= len(*now) {
		return "", "", false
	}
	at := &(*now)[part]
	return at.node, at.address, at.local
}

// allOwned reports whether every partition has a holder.
func (p *partitionOwners) allOwned() bool {
	now := p.current.Load()
	return now != nil && !slices.ContainsFunc(*now, func(l location) bool { return l.node == "" })
}

// status returns the holders of all partitions.
func (p *partitionOwners) status() []host.PartStatus {
	list := []host.PartStatus{}
	if now := p.current.Load(); now != nil {
		for _, l := range *now {
			list = append(list, host.PartStatus{Node: l.node, Here: l.local})
		}
	}
	return list
}

// liveNodes returns the mesh addresses of the live nodes, by name. The caller must not change
// the map.
func (p *partitionOwners) liveNodes() map[string]string {
	if at := p.nodes.Load(); at != nil {
		return *at
	}
	return nil
}

// set stores the holders and nodes, and calls changed if they differ from before.
func (p *partitionOwners) set(list []location, nodes map[string]string) {
	before, were := p.current.Load(), p.liveNodes()
	p.current.Store(&list)
	p.nodes.Store(&nodes)
	if p.changed != nil && (before == nil || !slices.Equal(*before, list) || !maps.Equal(were, nodes)) {
		p.changed()
	}
}
