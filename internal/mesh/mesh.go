package mesh

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
)

// Node is a node of the cluster.
type Node struct {
	Name    string
	Address string // HOST:PORT where it listens; "" if it is not dialled, but may dial
}

// Number returns a hash of a node's name, for wamble.Peer. It is the same on all nodes, and
// never 0.
func Number(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return max(1, h.Sum32())
}

// Options are the parameters of a mesh.
type Options struct {
	Name string // of this node, at most MaxName bytes
	Key  Key
	// Receive handles the frames of a node in order, except subscriptions, requests and
	// answers. It is called on one goroutine for each node, and must not block.
	Receive func(from uint32, frames []Frame)
	// Answer answers a request of another node.
	Answer func(ctx context.Context, from, what string, question []byte) ([]byte, error)
	// Subscribed is called when a node subscribes to the events of a name on a connection.
	// It may be nil, and must not block.
	Subscribed func(name string)
	// Lost is called when the connection to a node has ended. Frames that were under way may
	// be lost. It may be nil.
	Lost func(node uint32)
	// Report is called with panics; it may be nil.
	Report func(error)
	Log    *slog.Logger // nil discards

	timing timing // zero fields stand for the defaults
}

// timing has the times of connections, with their defaults.
type timing struct {
	handshake time.Duration // longest handshake of the listening end; 2 s
	dial      time.Duration // longest time to connect, with the handshake; 3 s
	beat      time.Duration // interval of keep-alives; 1 s
	silence   time.Duration // after which a connection is given up; 4 s
	first     time.Duration // pause after the first failure, doubled each time; 50 ms
	last      time.Duration // longest pause; 2 s
	deference time.Duration // how long the greater name waits for the lesser to dial; 250 ms
}

func (t timing) withDefaults() timing {
	for _, d := range []struct {
		field *time.Duration
		is    time.Duration
	}{
		{&t.handshake, 2 * time.Second}, {&t.dial, 3 * time.Second}, {&t.beat, time.Second}, {&t.silence, 4 * time.Second},
		{&t.first, 50 * time.Millisecond}, {&t.last, 2 * time.Second}, {&t.deference, 250 * time.Millisecond},
	} {
		if *d.field == 0 {
			*d.field = d.is
		}
	}
	return t
}

// Mesh has this node's connections to the other nodes.
type Mesh struct {
	o         Options
	log       *slog.Logger
	handshake handshake
	timing    timing
	listener  net.Listener // nil if this node only dials
	ctx       context.Context
	cancel    context.CancelFunc
	helpers   sync.WaitGroup
	unproven  unproven
	counts    counters

	nodes         atomic.Pointer[map[uint32]*node] // by number; replaced, never changed, while mu is held
	mu            sync.Mutex                       // guards what follows, and changes of nodes
	subscriptions map[string]struct{}              // names of events this node subscribes to
	listed        map[string]bool                  // names of the nodes that may connect
	relisted      chan struct{}                    // closed when listed is replaced
}

// node is another node. It is dialled while it is listed by SetNodes with an address, and known
// as long as it has a connection.
type node struct {
	name   string
	number uint32
	conn   atomic.Pointer[conn]
	// Guarded by the mesh:
	address string
	cancel  context.CancelFunc // ends dialling; nil if it is not dialled
	changed chan struct{}      // capacity 1: the address has changed
}

type counters struct {
	sent, received, lost, slowReaders, unknown, refused atomic.Uint64
	open                                                atomic.Int64
}

// Stats has counters since the mesh was opened.
type Stats struct {
	Sent     uint64 // frames that Send has queued
	Received uint64 // frames that were passed to Receive
	Lost     uint64 // frames and events without a connection or room
	Behind   uint64 // connections that ended because a node did not read
	Refused  uint64 // connections whose handshake failed at the listening end, or of a node that may not connect
	Open     int    // current connections
}

// Stats returns the counters.
func (m *Mesh) Stats() Stats {
	c := &m.counts
	return Stats{c.sent.Load(), c.received.Load(), c.lost.Load(), c.slowReaders.Load(), c.refused.Load(),
		int(c.open.Load())}
}

// Open starts a mesh that accepts connections of other nodes. A nil listener is for a node
// that only dials. Close closes the listener.
func Open(l net.Listener, o Options) (*Mesh, error) {
	if o.Name == "" || len(o.Name) > MaxName {
		return nil, fmt.Errorf("the name of a node has 1 to %d bytes, not %d", MaxName, len(o.Name))
	}
	if o.Key == (Key{}) {
		return nil, errors.New("the mesh has no key")
	}
	m := &Mesh{o: o, log: o.Log, listener: l, timing: o.timing.withDefaults(), handshake: handshake{key: o.Key,
		name: o.Name}, subscriptions: map[string]struct{}{}, relisted: make(chan struct{})}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	rand.Read(m.handshake.instance[:])
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.nodes.Store(&map[uint32]*node{})
	if l != nil {
		m.helpers.Go(func() { guard.Run("the listener for nodes", m.listen, o.Report) })
	}
	return m, nil
}

// Close ends all connections and waits for their goroutines.
func (m *Mesh) Close() error {
	m.cancel()
	var err error
	if m.listener != nil {
		err = m.listener.Close()
	}
	m.unproven.end()
	m.mu.Lock()
	for _, n := range *m.nodes.Load() {
		if c := n.conn.Load(); c != nil {
			c.end()
		}
	}
	m.mu.Unlock()
	m.helpers.Wait()
	return err
}

// Self returns the number of this node.
func (m *Mesh) Self() uint32 { return Number(m.o.Name) }

// Addr returns the address at which the mesh listens; nil if it does not.
func (m *Mesh) Addr() net.Addr {
	if m.listener == nil {
		return nil
	}
	return m.listener.Addr()
}

// conn returns the connection to a node; nil if there is none.
func (m *Mesh) conn(number uint32) *conn {
	if n := (*m.nodes.Load())[number]; n != nil {
		return n.conn.Load()
	}
	return nil
}

// Send queues a frame for a node, and returns false if it is lost. It never blocks, and does
// not retain f.
func (m *Mesh) Send(to uint32, f *Frame) bool {
	if c := m.conn(to); c != nil && c.send(f) {
		m.counts.sent.Add(1)
		return true
	}
	m.counts.lost.Add(1)
	return false
}

// Connected returns the names of the connected nodes, sorted.
func (m *Mesh) Connected() (names []string) {
	for _, n := range *m.nodes.Load() {
		if n.conn.Load() != nil {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// SetNodes sets the nodes of the cluster: those with an address are dialled from now on, and
// no others than these are accepted. A connection that there is stays. This node may be among
// them.
func (m *Mesh) SetNodes(list []Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	dialled := map[uint32]bool{}
	m.listed = map[string]bool{}
	for _, l := range list {
		if l.Name == m.o.Name || l.Name == "" || len(l.Name) > MaxName {
			continue
		}
		m.listed[l.Name] = true
		if l.Address == "" {
			continue
		}
		n := m.node(l.Name)
		if n == nil {
			m.log.Error("two nodes cannot be told apart: rename one of them", "node", l.Name)
			continue
		}
		dialled[n.number] = true
		switch {
		case n.cancel == nil:
			n.address = l.Address
			var ctx context.Context
			ctx, n.cancel = context.WithCancel(m.ctx)
			m.helpers.Go(func() { guard.Run("the connection to a node", func() { m.dial(ctx, n) }, m.o.Report) })
		case n.address != l.Address:
			n.address = l.Address
			select {
			case n.changed <- struct{}{}:
			default:
			}
		}
	}
	close(m.relisted)
	m.relisted = make(chan struct{})
	for number, n := range *m.nodes.Load() {
		if n.cancel != nil && !dialled[number] {
			n.cancel()
			n.cancel = nil
			m.forget(n)
		}
	}
}

// awaitListed waits until a node that has connected is listed, for as long as a handshake may
// take: one that starts may connect before the caller of SetNodes has seen it.
func (m *Mesh) awaitListed(name string) bool {
	timer := time.NewTimer(m.timing.handshake)
	defer timer.Stop()
	for {
		m.mu.Lock()
		listed, relisted := m.listed[name], m.relisted
		m.mu.Unlock()
		if listed {
			return true
		}
		select {
		case <-relisted:
		case <-timer.C:
			return false
		case <-m.ctx.Done():
			return false
		}
	}
}

// node returns the node of a name, and adds it if it is new; nil if another node has the
// same number. The mesh is locked.
func (m *Mesh) node(name string) *node {
	number, nodes := Number(name), *m.nodes.Load()
	if n := nodes[number]; n != nil || number == m.Self() {
		if n == nil || n.name != name {
			return nil
		}
		return n
	}
	n := &node{name: name, number: number, changed: make(chan struct{}, 1)}
	nodes = maps.Clone(nodes)
	nodes[number] = n
	m.nodes.Store(&nodes)
	return n
}

// forget removes a node that is not dialled and has no connection. The mesh is locked.
func (m *Mesh) forget(n *node) {
	if nodes := *m.nodes.Load(); nodes[n.number] == n && n.cancel == nil && n.conn.Load() == nil {
		nodes = maps.Clone(nodes)
		delete(nodes, n.number)
		m.nodes.Store(&nodes)
	}
}

// register makes an authenticated connection the one of its node, and reports whether it did.
//
// If both nodes have dialled, both keep the connection that the lesser name has dialled. One
// that the same process has dialled again replaces the old one. A connection of another
// process is refused while there is one: who has the key cannot take the place of a node that
// lives. A node that starts anew is accepted when its old connection has ended, at the latest
// after timing.silence.
func (m *Mesh) register(c *conn, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return false
	}
	if c.node = m.node(name); c.node == nil {
		m.log.Error("two nodes cannot be told apart: rename one of them", "node", name)
		return false
	}
	if old := c.node.conn.Load(); old != nil {
		if old.instance != c.instance {
			m.counts.refused.Add(1)
			return false
		}
		if old.dialled != c.dialled && c.dialled != (m.o.Name < name) {
			return false
		}
		old.end()
	}
	c.node.conn.Store(c)
	for name := range m.subscriptions {
		c.send(&Frame{Kind: KindSubscribe, Name: []byte(name)})
	}
	return true
}

// serve runs an authenticated connection until it ends.
func (m *Mesh) serve(c *conn, name string) error {
	if !m.register(c, name) {
		c.nc.Close()
		return nil
	}
	m.log.Info("connected with another node", "node", name)
	m.counts.open.Add(1)
	err := c.run()
	m.counts.open.Add(-1)
	m.mu.Lock()
	c.node.conn.CompareAndSwap(c, nil)
	m.forget(c.node)
	m.mu.Unlock()
	if m.ctx.Err() == nil {
		m.log.Info("the connection with another node has ended", "node", name, "err", reason(err))
	}
	if m.o.Lost != nil {
		m.o.Lost(c.node.number)
	}
	return err
}

// reason returns why a connection ended, in one line.
func reason(err error) string {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return "it was closed"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
