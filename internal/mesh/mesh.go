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

// Node is one of the nodes of an installation.
type Node struct {
	Name    string
	Address string // HOST:PORT, where it listens; "": it is not dialled
}

// Number is how a node is called where a name is too long, as in wamble.Peer: the same
// on all nodes, and never 0.
func Number(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return max(1, h.Sum32())
}

// Options is what a mesh is made with.
type Options struct {
	Name string // of this node, at most MaxName bytes
	Key  Key
	// Receive is given the packets, replies, ends and events that a node has sent, in
	// order. It is called by one goroutine for each node, and must not wait.
	Receive func(from uint32, frames []Frame)
	// Answer answers a request of another node.
	Answer func(ctx context.Context, from, what string, question []byte) ([]byte, error)
	// Subscribed is told that a node wants the events of a name, and that it has got none on
	// this connection; nil: nobody is. It must not wait.
	Subscribed func(name string)
	// Lost is told that the connection to a node has ended, with whatever was under way;
	// nil: nobody is.
	Lost func(node uint32)
	// Report is told of panics; nil: nobody is.
	Report func(error)
	Log    *slog.Logger // nil is silence

	timing timing // zero fields are the defaults
}

// timing bounds how long a connection may take.
type timing struct {
	handshake time.Duration // to prove itself; 2 s
	dial      time.Duration // to be opened and proven; 3 s
	beat      time.Duration // a sign of life is sent after so much silence; 1 s
	silence   time.Duration // after which a connection is given up; 4 s
	first     time.Duration // pause after a connection that failed, doubled each time; 50 ms
	last      time.Duration // up to this; 2 s
	deference time.Duration // that the greater name waits for the lesser to dial; 250 ms
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

// Mesh is this node's connections to the others.
type Mesh struct {
	o         Options
	log       *slog.Logger
	handshake handshake
	timing    timing
	listener  net.Listener // nil: nobody can dial
	ctx       context.Context
	cancel    context.CancelFunc
	helpers   sync.WaitGroup
	unproven  unproven
	counts    counters

	nodes atomic.Pointer[map[uint32]*node] // by number; never changed but replaced, under mu
	mu    sync.Mutex
	wants map[string]struct{} // names of events
}

// node is another node: dialled while it is listed, and known as long as there is a
// connection.
type node struct {
	name   string
	number uint32
	conn   atomic.Pointer[conn]
	// Guarded by the mesh:
	address string
	cancel  context.CancelFunc // ends the dialling; nil: it is not listed
	changed chan struct{}      // holds a token when the address is another one
}

type counters struct {
	sent, heard, lost, behind, unknown, refused atomic.Uint64
	open                                        atomic.Int64
}

// Stats counts since the mesh was opened.
type Stats struct {
	Sent    uint64 // frames of packets, replies and ends that were queued
	Heard   uint64 // frames that were received
	Lost    uint64 // frames for which there was no connection or no room
	Behind  uint64 // connections that ended because a node did not read
	Refused uint64 // connections that did not prove themselves
	Open    int    // connections now
}

// Stats returns the counters.
func (m *Mesh) Stats() Stats {
	c := &m.counts
	return Stats{c.sent.Load(), c.heard.Load(), c.lost.Load(), c.behind.Load(), c.refused.Load(), int(c.open.Load())}
}

// Open begins to listen for other nodes; a nil listener is for a node that nobody
// dials. Close closes the listener.
func Open(l net.Listener, o Options) (*Mesh, error) {
	if o.Name == "" || len(o.Name) > MaxName {
		return nil, fmt.Errorf("the name of a node has 1 to %d bytes, not %d", MaxName, len(o.Name))
	}
	if o.Key == (Key{}) {
		return nil, errors.New("the mesh has no key")
	}
	m := &Mesh{o: o, log: o.Log, listener: l, timing: o.timing.withDefaults(), handshake: handshake{key: o.Key, name: o.Name}, wants: map[string]struct{}{}}
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

// Close ends all connections, and waits for what belongs to them.
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

// Self is the number of this node.
func (m *Mesh) Self() uint32 { return Number(m.o.Name) }

// Addr is where the mesh listens; nil: nowhere.
func (m *Mesh) Addr() net.Addr {
	if m.listener == nil {
		return nil
	}
	return m.listener.Addr()
}

// conn returns the connection to a node; nil: there is none.
func (m *Mesh) conn(number uint32) *conn {
	if n := (*m.nodes.Load())[number]; n != nil {
		return n.conn.Load()
	}
	return nil
}

// Send sends a frame to a node, and reports false if it is lost. It never waits, and
// f is free again when it returns.
func (m *Mesh) Send(to uint32, f *Frame) bool {
	if c := m.conn(to); c != nil && c.send(f) {
		m.counts.sent.Add(1)
		return true
	}
	m.counts.lost.Add(1)
	return false
}

// Connected returns the names of the nodes to which there is a connection, in order.
func (m *Mesh) Connected() (names []string) {
	for _, n := range *m.nodes.Load() {
		if n.conn.Load() != nil {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// SetNodes says which nodes there are. This node may be among them.
func (m *Mesh) SetNodes(list []Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	listed := map[uint32]bool{}
	for _, l := range list {
		if l.Name == m.o.Name || l.Name == "" || len(l.Name) > MaxName || l.Address == "" {
			continue
		}
		n := m.node(l.Name)
		if n == nil {
			m.log.Error("two nodes cannot be told apart: rename one of them", "node", l.Name)
			continue
		}
		listed[n.number] = true
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
	for number, n := range *m.nodes.Load() {
		if n.cancel != nil && !listed[number] {
			n.cancel()
			n.cancel = nil
			m.forget(n)
		}
	}
}

// node returns the node of a name, which it makes known; nil if another one has its
// number. The mesh is locked.
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

// forget drops a node that is not listed and has no connection. The mesh is locked.
func (m *Mesh) forget(n *node) {
	if nodes := *m.nodes.Load(); nodes[n.number] == n && n.cancel == nil && n.conn.Load() == nil {
		nodes = maps.Clone(nodes)
		delete(nodes, n.number)
		m.nodes.Store(&nodes)
	}
}

// enter makes a proven connection that of its node, unless there is a better one. It
// returns whether it did.
//
// When both nodes have dialled, both keep the connection that the lesser name has
// dialled. One of another process, or dialled again, is newer than what it replaces.
func (m *Mesh) enter(c *conn, name string) bool {
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
		if old.instance == c.instance && old.dialled != c.dialled && c.dialled != (m.o.Name < name) {
			return false
		}
		old.end()
	}
	c.node.conn.Store(c)
	for name := range m.wants {
		c.send(&Frame{Kind: KindSubscribe, Name: []byte(name)})
	}
	return true
}

// serve runs a connection that has proven itself, until it ends.
func (m *Mesh) serve(c *conn, name string) error {
	if !m.enter(c, name) {
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

// reason is why a connection ended, in a line.
func reason(err error) string {
	if err == nil || errors.Is(err, net.ErrClosed) {
		return "it was closed"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
