package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
)

// A world is several nodes that share the partitions of a journal, as Decide tells them, and their
// database. Time passes in steps; in each one the nodes beat, and faults begin and end:
//
//	killed, started again · reloading · stopping, started again · cut from the database · suspended
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	nodes   []*worldNode
	parts   []worldPart
	history strings.Builder
	actions int  // number of actions that nodes have decided
	calm    bool // no fault begins any more
}

// worldPart is a partition as the database has it.
type worldPart struct {
	holder    *worldNode // also a dead one
	epoch     int        // of its claim
	successor string
	released  time.Duration
	unserved  time.Duration // when it was served last, or no node could serve it
}

// worldNode is one process of a machine.
type worldNode struct {
	name      string
	reachable bool
	lastBeat  time.Duration // by the database
	until     time.Duration // when its state ends
	state     string        // "", "dead", "reloading", "cut", "asleep"
	drain     *Drain
	h         History
	held      map[int]int // epoch of the claim by partition
	ends      map[int]time.Duration
	begun     map[int]Action // what is under way, until ends
	says      Node           // its last heartbeat
}

const (
	worldBeat  = 500 * time.Millisecond
	worldLease = 2 * time.Second
)

// TestModel lets nodes share partitions in many worlds. No node claims during a reload; what is free
// is claimed within seconds while a node can; a stop leaves nothing behind that another node could
// have; and when the faults are over, all partitions are held, each by one node, in equal shares,
// and nothing moves any more.
func TestModel(t *testing.T) {
	t.Parallel()
	seed := prooftest.Seed(t)
	for i := range prooftest.Sized(100, 2000, 100_000) {
		w := newWorld(t, seed+uint64(i))
		for range 80 {
			w.step()
		}
		w.calm = true
		for end, n := w.now+maxStableAfter+worldBound, 0; n < 20 || w.faults() != nil && w.now < end; n++ {
			w.step()
		}
		settled := w.actions
		for range 20 {
			w.step()
		}
		if got := w.faults(); got != nil || w.actions != settled {
			t.Errorf("it does not settle: %v", got)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed+uint64(i), w.history.String())
		}
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Minute}
	joined := w.rng.IntN(4) > 0
	for i := range 1 + w.rng.IntN(4) {
		w.nodes = append(w.nodes, newWorldNode(string(rune('a'+i)), joined))
	}
	w.parts = make([]worldPart, 1+w.rng.IntN(5))
	return w
}

func newWorldNode(name string, reachable bool) *worldNode {
	return &worldNode{name: name, reachable: reachable, held: map[int]int{}, ends: map[int]time.Duration{},
		begun: map[int]Action{}, says: Node{Name: name, Reachable: reachable}}
}

func (w *world) note(format string, args ...any) {
	fmt.Fprintf(&w.history, "%v "+format+"\n", append([]any{w.now - time.Minute}, args...)...)
}

// step lets the nodes beat in any order, and time pass.
func (w *world) step() {
	w.now += worldBeat
	for _, i := range w.rng.Perm(len(w.nodes)) {
		w.fault(i)
		n := w.nodes[i]
		if n.state == "dead" || n.state == "asleep" {
			continue
		}
		for k := range w.parts {
			w.end(n, k)
		}
		w.beat(n)
	}
	w.watch()
}

// fault begins or ends a fault of a node.
func (w *world) fault(i int) {
	n := w.nodes[i]
	if n.state != "" && (w.now >= n.until || w.calm) {
		w.note("%s: %s no more", n.name, n.state)
		if n.state != "dead" {
			n.state = ""
		} else {
			n = newWorldNode(n.name, n.reachable)
			w.nodes[i] = n
		}
	}
	if n.state != "" || w.calm || w.rng.IntN(25) > 0 {
		return
	}
	switch n.until = w.now + time.Duration(w.rng.IntN(12_000))*time.Millisecond; w.rng.IntN(5) {
	case 0:
		n.state, n.drain = "dead", nil
	case 1:
		if len(n.begun) == 0 { // a claim or release keeps a reload from beginning
			n.state = "reloading"
		}
	case 2:
		n.state = "cut"
	case 3:
		n.state = "asleep"
	case 4:
		if n.drain == nil {
			n.drain = &Drain{Deadline: n.until}
		}
	}
	w.note("%s: %q, drain %v", n.name, n.state, n.drain)
}

// end carries out what is under way with a partition, when its time has come.
func (w *world) end(n *worldNode, k int) {
	a, ok := n.begun[k]
	if !ok || w.now < n.ends[k] || n.state == "cut" {
		return
	}
	delete(n.begun, k)
	p := &w.parts[k]
	switch mine := p.holder == n && p.epoch == n.held[k]; {
	case a.Do == Claim && w.view(n, k).Free:
		p.epoch++
		p.holder, p.successor, n.held[k] = n, "", p.epoch
	case a.Do == Release && mine:
		p.holder, p.successor, p.released = nil, a.To, w.now
		delete(n.held, k)
	case a.Do != Claim:
		delete(n.held, k)
	}
}

// view is what the database tells a node of a partition.
func (w *world) view(n *worldNode, k int) pglog.PartitionView {
	v, p := pglog.PartitionView{}, &w.parts[k]
	if p.holder != nil {
		v.Holder = p.holder.name
	} else if w.now-p.released < worldLease {
		v.Successor = p.successor
	}
	v.Free = p.holder == n || p.holder == nil && (v.Successor == "" || v.Successor == n.name) ||
		p.holder != nil && w.now-p.holder.lastBeat >= worldLease
	return v
}

// beat lets a node write a heartbeat, see the others, decide, and begin what it has decided.
func (w *world) beat(n *worldNode) {
	seen := pglog.ClusterView{}
	marks := Marks{}
	if n.state == "cut" {
		seen.Err = errors.New("cut off")
	} else {
		n.lastBeat = w.now
		n.says.Draining, n.says.Changing = n.drain != nil, n.state == "reloading"
	}
	for _, other := range w.nodes {
		if other.lastBeat == 0 || w.now-other.lastBeat >= worldLease {
			continue
		}
		seen.Nodes = append(seen.Nodes, pglog.Node{Name: other.name, Address: map[bool]string{true: "mesh"}[other.reachable]})
		if other != n && other.says.Draining {
			marks.Draining = append(marks.Draining, other.name)
		}
		if other != n && other.says.Changing {
			marks.Changing = append(marks.Changing, other.name)
		}
	}
	where := make([]Place, len(w.parts))
	for k := range w.parts {
		p := &w.parts[k]
		seen.Parts = append(seen.Parts, w.view(n, k))
		_, busy := n.begun[k]
		_, held := n.held[k]
		switch {
		case busy:
			where[k] = Moving
		case held && p.epoch != n.held[k]:
			where[k] = Lost
		case held:
			where[k] = Held
		}
	}
	v := NewView(n.name, seen, where, marks)
	v.Changing, v.Drain = n.state == "reloading", n.drain
	n.h.Complete(&v, w.now)
	for _, a := range Decide(v, w.now) {
		if a.Do != Wait {
			w.actions++
			w.note("%s: %v", n.name, a)
		}
		switch a.Do {
		case Claim, Release, Drop:
			if n.state != "" || where[a.Part] == Moving || (a.Do == Claim) != (where[a.Part] == NotHeld) {
				w.t.Errorf("%s cannot %v:\n%s", n.name, a, describe(v, w.now))
			}
			if a.Do == Release {
				n.h.Moved(w.now)
			}
			n.begun[a.Part], n.ends[a.Part] = a, w.now+time.Duration(w.rng.IntN(1500))*time.Millisecond
		case Drained:
			if early := w.now <= n.drain.Deadline && n.state == ""; early && len(n.held) > 0 && w.others(n) {
				w.t.Errorf("%s ends with partitions although another node could have them:\n%s", n.name, describe(v, w.now))
			}
			for k := range w.parts { // the end of the server releases what is left
				if p := &w.parts[k]; p.holder == n && p.epoch == n.held[k] && n.state != "cut" {
					p.holder, p.successor = nil, ""
				}
			}
			n.state, n.drain = "dead", nil
			n.until = w.now + time.Second
		case Wait:
		}
		if n.state == "dead" {
			return
		}
	}
}

// others reports whether another node lives and does not stop.
func (w *world) others(n *worldNode) bool {
	return slices.ContainsFunc(w.nodes, func(o *worldNode) bool {
		return o != n && o.lastBeat > 0 && w.now-o.lastBeat < worldLease && !o.says.Draining
	})
}

// worldBound is the longest time that a partition has no holder while a node lives that could have it
// all the time: a lease, a turn of each node that may be better suited and dies meanwhile, and beats.
const worldBound = worldLease + 4*claimDelay + 3*time.Second

// watch fails the test if a partition stays without a holder.
func (w *world) watch() {
	able := slices.ContainsFunc(w.nodes, func(n *worldNode) bool { return n.state == "" && n.drain == nil })
	for k := range w.parts {
		p := &w.parts[k]
		if !able || p.holder != nil && p.holder.state != "dead" && p.epoch == p.holder.held[k] {
			p.unserved = w.now
		}
		if w.now-max(p.unserved, time.Minute) > worldBound {
			w.t.Errorf("partition %d has no holder for %v", k, w.now-p.unserved)
		}
	}
}

// faults returns what is not as it shall be when no fault begins any more.
func (w *world) faults() (list []string) {
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	load := map[string]int{}
	for k := range w.parts {
		if p := &w.parts[k]; p.holder == nil || p.epoch != p.holder.held[k] {
			note("partition %d has no holder", k)
		} else {
			load[p.holder.name]++
		}
	}
	for _, n := range w.nodes {
		got, least, most := load[n.name], len(w.parts)/len(w.nodes), (len(w.parts)+len(w.nodes)-1)/len(w.nodes)
		if n.reachable && (got < least || got > most) || !n.reachable && got != 0 && got != len(w.parts) {
			note("%s has %d of %d partitions", n.name, got, len(w.parts))
		}
		if len(n.held) != got || len(n.begun) > 0 {
			note("%s believes to have %v, and %v is under way", n.name, n.held, n.begun)
		}
	}
	return list
}
