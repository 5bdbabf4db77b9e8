package cluster

import (
	"maps"
	"slices"
	"sync/atomic"

	"wamble/internal/mesh"
	"wamble/internal/store/postgres/pglog"
)

// Owners has the holders of the journal's partitions and the live nodes, as of the last
// heartbeat. It may be read concurrently.
type Owners struct {
	current atomic.Pointer[[]Location]           // by partition
	nodes   atomic.Pointer[map[string]mesh.Node] // live nodes, by name
	// Changed is called by Set after a change; it may be nil.
	Changed func()
}

// Location is the holder of a partition.
type Location struct {
	Node  string // name of the holder; "" if there is none
	Local bool   // the holder is this node
}

// Owner returns the holder of a partition. Before the first heartbeat there is none.
func (p *Owners) Owner(part int) Location {
	now := p.Locations()
	if part < 0 || part >= len(now) {
		return Location{}
	}
	return now[part]
}

// AllOwned reports whether every partition has a holder.
func (p *Owners) AllOwned() bool {
	now := p.current.Load()
	return now != nil && !slices.ContainsFunc(*now, func(l Location) bool { return l.Node == "" })
}

// Locations returns the holders of all partitions.
func (p *Owners) Locations() []Location {
	if now := p.current.Load(); now != nil {
		return *now
	}
	return nil
}

// LiveNodes returns the live nodes, by name. The caller must not change the map.
func (p *Owners) LiveNodes() map[string]mesh.Node {
	if at := p.nodes.Load(); at != nil {
		return *at
	}
	return nil
}

// Set stores the holders and the live nodes, and calls Changed if they differ from before.
func (p *Owners) Set(list []Location, live []pglog.Node) {
	nodes := map[string]mesh.Node{}
	for _, n := range live {
		nodes[n.Name] = mesh.Node{Name: n.Name, Address: n.Address, Key: n.Key}
	}
	before, were := p.current.Load(), p.LiveNodes()
	p.current.Store(&list)
	p.nodes.Store(&nodes)
	if p.Changed != nil && (before == nil || !slices.Equal(*before, list) || !maps.Equal(were, nodes)) {
		p.Changed()
	}
}
