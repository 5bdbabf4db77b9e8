package server

import (
	"maps"
	"slices"
	"sync/atomic"

	"wamble/internal/host"
)

// places is who holds which part of the world, as this node has seen it last. It may be
// read by anybody at any time.
type places struct {
	now   atomic.Pointer[[]location]
	nodes atomic.Pointer[map[string]string]
	// changed is called when there is something new, from before Run on; nil: nobody is told.
	changed func()
}

// location is where a part is.
type location struct {
	node    string // "": nobody has it
	address string // where other nodes reach that node; "": nowhere
	here    bool   // this node has it, and serves it
}

// owner returns which node has a part, where other nodes reach it, and whether it is this
// one. While nothing was seen, nobody has it.
func (p *places) owner(part int) (node, address string, here bool) {
	now := p.now.Load()
	if now == nil || part < 0 || part >= len(*now) {
		return "", "", false
	}
	at := &(*now)[part]
	return at.node, at.address, at.here
}

// known reports whether somebody has every part.
func (p *places) known() bool {
	now := p.now.Load()
	return now != nil && !slices.ContainsFunc(*now, func(l location) bool { return l.node == "" })
}

// status is where the parts are.
func (p *places) status() []host.PartStatus {
	list := []host.PartStatus{}
	if now := p.now.Load(); now != nil {
		for _, l := range *now {
			list = append(list, host.PartStatus{Node: l.node, Here: l.here})
		}
	}
	return list
}

// living returns where the machines that live are reached by others, by name; it is not to
// be changed.
func (p *places) living() map[string]string {
	if at := p.nodes.Load(); at != nil {
		return *at
	}
	return nil
}

// set takes what was seen last.
func (p *places) set(list []location, nodes map[string]string) {
	before, were := p.now.Load(), p.living()
	p.now.Store(&list)
	p.nodes.Store(&nodes)
	if p.changed != nil && (before == nil || !slices.Equal(*before, list) || !maps.Equal(were, nodes)) {
		p.changed()
	}
}
