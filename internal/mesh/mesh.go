package mesh

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
)

// Node is a node of the cluster.
type Node struct {
	Name    string
	Address string // HOST:PORT where it listens; "" if it is not dialled, but may dial
	Key     string // its public key, see Mesh.Key; "" if it is neither dialled nor may dial
}

// Number returns a hash of a node's name, for wamble.Peer. It is the same on all nodes, and never 0.
func Number(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return max(1, h.Sum32())
}

// Options are the parameters of a mesh. No function may block, but Answer.
type Options struct {
	Name string // of this node, at most MaxName bytes
	// Receive handles the frames of a node: packets and ends of connections in order, and replies in
	// order, on a goroutine for each of the two.
	Receive func(from uint32, frames []Frame)
	// Event handles an event of a name to which this node subscribes. It may retain nothing of data.
	Event func(name string, data []byte)
	// Answer answers a question of another node.
	Answer func(ctx context.Context, from, what string, question []byte) ([]byte, error)
	// Subscribed is called when a node subscribes to the events of a name on a connection.
	Subscribed func(name string)
	// Unlisted is called, not too often, when a process connects whose key is not listed: SetNodes may be
	// late.
	Unlisted func()
	// Lost is called when the connection to a node has ended, and Left when that from a node has. Frames
	// that were under way may be lost.
	Lost, Left func(node uint32)
	// Report is called with panics; it may be nil.
	Report func(error)
	Log    *slog.Logger // nil discards

	timing timing // the zero value stands for usual
}

// timing has the times of connections.
type timing struct {
	handshake time.Duration // longest handshake of the listening end
	dial      time.Duration // longest time to connect, with the handshake
	silence   time.Duration // after which a connection is given up, in spite of pings
	first     time.Duration // pause after the first failure, doubled each time
	last      time.Duration // longest pause
}

var usual = timing{handshake: 2 * time.Second, dial: 3 * time.Second, silence: 4 * time.Second,
	first: 50 * time.Millisecond, last: 2 * time.Second}

// Mesh has this node's connections to and from the other nodes.
type Mesh struct {
	o           Options
	log         *slog.Logger
	timing      timing
	certificate tls.Certificate
	key         string
	listener    net.Listener
	server      *http.Server
	ctx         context.Context
	cancel      context.CancelFunc
	helpers     sync.WaitGroup
	unproven    unproven

	sent, received, lost, refused atomic.Uint64
	open                          atomic.Int64

	nodes         atomic.Pointer[map[uint32]*node] // by number; replaced, never changed, while mu is held
	mu            sync.Mutex                       // guards what follows, and changes of nodes
	closed        bool
	subscriptions map[string]bool   // names of events this node subscribes to
	listed        map[string]string // names of the nodes that may connect, by key
	relisted      chan struct{}     // closed when listed is replaced
	unlistedAt    time.Time         // when Options.Unlisted was called last
	unlisted      int               // connections that wait for their key to be listed, at most maxUnproven

	subscribersMu sync.RWMutex
	subscribers   map[*subscription]struct{} // of other nodes
}

// node is another node. It is known while it is listed or connected.
type node struct {
	name   string
	number uint32
	link   atomic.Pointer[link]     // the connection to it; nil if there is none
	caller atomic.Pointer[exchange] // its packets and the replies to them; nil if it has not dialled
	// Guarded by the mesh:
	listed  Node          // without an address if it is not dialled
	dialled bool          // by a goroutine
	changed chan struct{} // capacity 1: listed has changed
}

// Stats has counters since the mesh was opened.
type Stats struct {
	Sent     uint64 // frames that Send has queued
	Received uint64 // frames that were passed to Receive
	Lost     uint64 // frames and events without a connection or room
	Refused  uint64 // connections that ended without a proof of identity
	Open     int    // current connections to other nodes
}

// Stats returns the counters.
func (m *Mesh) Stats() Stats {
	return Stats{m.sent.Load(), m.received.Load(), m.lost.Load(), m.refused.Load(), int(m.open.Load())}
}

// Open starts a mesh that accepts connections of other nodes. Close closes the listener.
func Open(l net.Listener, o Options) (*Mesh, error) {
	if o.Name == "" || len(o.Name) > MaxName {
		return nil, fmt.Errorf("the name of a node has 1 to %d bytes, not %d", MaxName, len(o.Name))
	}
	m := &Mesh{o: o, log: o.Log, listener: l, timing: o.timing, subscriptions: map[string]bool{},
		relisted: make(chan struct{}), subscribers: map[*subscription]struct{}{},
		unproven: unproven{conns: map[net.Conn]*unprovenConn{}}}
	if m.timing == (timing{}) {
		m.timing = usual
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if m.certificate, m.key, err = newIdentity(); err != nil {
		return nil, err
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.nodes.Store(&map[uint32]*node{})
	m.server = m.newServer()
	m.helpers.Go(func() {
		guard.Run("the listener for nodes", func() { m.server.ServeTLS(l, "", "") }, o.Report)
	})
	return m, nil
}

// Close ends all connections and waits for their goroutines.
func (m *Mesh) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	err := m.server.Close()
	m.listener.Close() // the server may not have begun
	m.helpers.Wait()
	return err
}

// Self returns the number of this node.
func (m *Mesh) Self() uint32 { return Number(m.o.Name) }

// Key returns the public key by which other nodes know this process.
func (m *Mesh) Key() string { return m.key }

// Send queues a frame for a node, and returns false if it is lost. It never blocks, and does not retain
// f. Packets and ends of connections go to the node that serves them, replies and hang-ups to the node
// that has dialled this one. If a reply to a WebSocket connection is lost, that node is told to end the
// connection.
func (m *Mesh) Send(to uint32, f *Frame) bool {
	var err error = errLost
	if n := (*m.nodes.Load())[to]; n != nil {
		if l := n.link.Load(); l != nil && !f.Kind.back() {
			if err = l.add(f); err == errSlowReader {
				l.cancel()
			}
		} else if e := n.caller.Load(); e != nil && f.Kind.back() {
			err = e.add(f)
			full := err
			if err == errLost && f.Client.Stream() {
				full = e.add(&Frame{Kind: KindHangUp, Part: f.Part, Name: f.Name, Client: f.Client})
			}
			if full == errSlowReader {
				e.Close()
			}
		}
	}
	if err != nil {
		m.lost.Add(1)
		return false
	}
	m.sent.Add(1)
	return true
}

// Connected returns the names of the nodes to which there is a connection, sorted.
func (m *Mesh) Connected() (names []string) {
	for _, n := range *m.nodes.Load() {
		if n.link.Load() != nil {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// SetNodes sets the nodes of the cluster: those with an address and a key are dialled from now on, and no
// others than these are accepted. A connection that there is stays. This node may be among them.
func (m *Mesh) SetNodes(list []Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.listed = map[string]string{}
	listed := map[*node]Node{}
	for _, l := range list {
		if l.Name == m.o.Name || l.Name == "" || len(l.Name) > MaxName || l.Key == "" {
			continue
		}
		if n := m.node(l.Name); n != nil {
			m.listed[l.Key], listed[n] = l.Name, l
		} else {
			m.log.Error("two nodes cannot be told apart: rename one of them", "node", l.Name)
		}
	}
	close(m.relisted)
	m.relisted = make(chan struct{})
	for _, n := range *m.nodes.Load() {
		before := n.listed
		n.listed = listed[n]
		if !n.dialled && n.listed.Address != "" {
			n.dialled = true
			m.helpers.Go(func() { guard.Run("the connection to a node", func() { m.dial(n) }, m.o.Report) })
		} else if before != n.listed {
			select {
			case n.changed <- struct{}{}:
			default:
			}
		}
		m.forget(n)
	}
}

// forget removes a node that is not listed and not connected. The mesh is locked.
func (m *Mesh) forget(n *node) {
	if n.listed == (Node{}) && !n.dialled && n.caller.Load() == nil {
		nodes := maps.Clone(*m.nodes.Load())
		delete(nodes, n.number)
		m.nodes.Store(&nodes)
	}
}

// unlistedEvery is the shortest interval between two calls of Options.Unlisted.
const unlistedEvery = 200 * time.Millisecond

// awaitListed returns the name of the node with a key. It waits for the node to be listed for as long as a
// handshake may take: one that starts may connect before the caller of SetNodes has seen it. "" if it is
// not listed.
func (m *Mesh) awaitListed(key string) string {
	timer := time.NewTimer(m.timing.handshake)
	defer timer.Stop()
	m.mu.Lock()
	if m.listed[key] == "" && m.unlisted == maxUnproven {
		m.mu.Unlock()
		return ""
	}
	m.unlisted++
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unlisted--
	}()
	for {
		m.mu.Lock()
		name, relisted := m.listed[key], m.relisted
		tell := name == "" && m.o.Unlisted != nil && time.Since(m.unlistedAt) >= unlistedEvery
		if tell {
			m.unlistedAt = time.Now()
		}
		m.mu.Unlock()
		if name != "" {
			return name
		}
		if tell {
			m.o.Unlisted()
		}
		select {
		case <-relisted:
		case <-timer.C:
			return ""
		case <-m.ctx.Done():
			return ""
		}
	}
}

// node returns the node of a name, and adds it if it is new; nil if another node has the same number. The
// mesh is locked.
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

// receive passes the frames of a node that may have this direction to Options.Receive.
func (m *Mesh) receive(from uint32, frames []Frame, back bool) {
	frames = slices.DeleteFunc(frames, func(f Frame) bool { return f.Kind.back() != back })
	if len(frames) > 0 {
		m.received.Add(uint64(len(frames)))
		m.o.Receive(from, frames)
	}
}

// http2 are the parameters of HTTP/2 of both ends. A connection on which nothing arrives is pinged.
func (m *Mesh) http2() *http.HTTP2Config {
	return &http.HTTP2Config{MaxReadFrameSize: readBuffer, SendPingTimeout: m.timing.silence / 2,
		PingTimeout: m.timing.silence / 2}
}

// Addr returns the address at which the mesh listens.
func (m *Mesh) Addr() net.Addr { return m.listener.Addr() }
