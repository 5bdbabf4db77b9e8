package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/mesh"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// Router routes packets between the nodes of a cluster. A packet for a shard on another
// node is forwarded there over the mesh. Its answer comes back and leaves by the socket that
// the player wrote to.
//
//	player ─▶ port of a remote shard ─▶ Forward ──mesh──▶ receive ─▶ inbox of the shard
//	player ◀─ port ◀─ receive ◀──mesh── reply ◀─ Port.Send ◀─ its loop
type Router struct {
	o             Options
	local         Local
	owned         *Owners
	address       string // configured
	key           mesh.Key
	self          uint32
	listener      net.Listener
	questionSlots chan struct{}             // semaphore of questions about boards
	mesh          atomic.Pointer[mesh.Mesh] // nil until Run has opened it

	mu          sync.Mutex // guards what follows
	closed      bool
	owners      []string                // last known holder of each partition
	remoteConns map[remoteConn]struct{} // connections at other nodes that have sent packets here
}

// remoteConn is a connection at another node whose packets go to a shard of this node.
type remoteConn struct {
	profile string
	part    int
	peer    wamble.Peer
}

// oldKey is the name of the note in which older versions kept the key of the mesh.
const oldKey = "mesh/key"

// joinPause is the pause after a failure to open the mesh.
const joinPause = 500 * time.Millisecond

// Profile is a profile that runs on this node.
type Profile interface {
	Port() *transport.Port // nil if it has none
	HasShard(part int) bool
	// ShowViews passes changed boards of another node to the watchers, and ResendViews publishes
	// all boards on this node again.
	ShowViews(data []byte)
	ResendViews()
}

// Local is this node as its router needs it.
type Local struct {
	Profile func(name string) (Profile, bool)
	Ports   func() []*transport.Port // of all profiles
	// Answer answers a question of another node.
	Answer   func(ctx context.Context, node, what string, question []byte) ([]byte, error)
	Panicked func(error)
	// Opened is called with the address at which other nodes reach this one.
	Opened func(address string)
}

// Listen makes a router that listens at an address. Nodes with the same key may connect if they
// are among the live nodes of owners.
func Listen(o Options, address string, key mesh.Key, owners *Owners, local Local) (*Router, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Router{
		o: o, local: local, owned: owners, address: address, key: key, self: mesh.Number(o.Node), listener: l,
		questionSlots: make(chan struct{}, maxBoardQuestions), remoteConns: map[remoteConn]struct{}{},
	}, nil
}

// Number returns the mesh number of this node; 0 if it has no cluster-address.
func (r *Router) Number() uint32 {
	if r == nil {
		return 0
	}
	return r.self
}

// Close ends the mesh, or the listener if the mesh is not open.
func (r *Router) Close() error {
	r.mu.Lock()
	r.closed = true
	m := r.mesh.Swap(nil)
	r.mu.Unlock()
	var closer io.Closer = r.listener
	if m != nil {
		closer = m
	}
	if err := closer.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Run opens the mesh, and tries again until that succeeds or ctx ends.
func (r *Router) Run(ctx context.Context) {
	for {
		err := r.open(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		r.o.Logger.Warn("other machines do not reach this one yet", "err", err)
		sleep(ctx, joinPause)
	}
}

func (r *Router) open(ctx context.Context) error {
	if err := r.o.Log.Forget(ctx, r.o.Journal, oldKey, 0); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	m, err := mesh.Open(r.listener, mesh.Options{
		Name: r.o.Node, Key: r.key, Receive: r.receive, Answer: r.local.Answer, Subscribed: r.republishViews,
		Lost:   r.nodeLost,
		Report: r.local.Panicked, Log: r.o.Logger,
	})
	if err != nil {
		return err
	}
	r.mesh.Store(m)
	address := r.address
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" { // the kernel has chosen
		_, port, _ = net.SplitHostPort(r.listener.Addr().String())
		address = net.JoinHostPort(host, port)
	}
	r.local.Opened(address)
	r.updateNodes()
	return nil
}

// JoinPort makes a port send packets for clients of other nodes over the mesh.
func (r *Router) JoinPort(profile string, p *transport.Port) {
	if r != nil && p != nil {
		name := []byte(profile)
		p.Join(r.self, func(shard int, to wamble.Peer, packet []byte) { r.forwardReply(name, shard, to, packet) })
	}
}

// ApplyOwners is called when nodes or holders of partitions have changed. It ends the connections
// whose partition got another holder: packets that were under way may be lost, and the
// client learns the state when it connects again.
func (r *Router) ApplyOwners() {
	r.updateNodes()
	var owners []string
	for _, l := range r.owned.Locations() {
		owners = append(owners, l.Node)
	}
	r.mu.Lock()
	before := r.owners
	r.owners = owners
	r.mu.Unlock()
	for part, was := range before {
		if was != "" && owners[part] != was {
			r.disconnectPartition(part)
		}
	}
}

// updateNodes passes the live nodes and their addresses to the mesh.
func (r *Router) updateNodes() {
	m := r.mesh.Load()
	if m == nil {
		return
	}
	var list []mesh.Node
	for name, address := range r.owned.LiveNodes() {
		list = append(list, mesh.Node{Name: name, Address: address})
	}
	m.SetNodes(list)
}

// NotifyChange makes the connected nodes send their next heartbeat at once.
func (r *Router) NotifyChange() {
	if m := r.mesh.Load(); m != nil {
		for _, name := range m.Connected() {
			m.Send(mesh.Number(name), &mesh.Frame{Kind: mesh.KindLook})
		}
	}
}

// disconnectPartition ends the connections at this node that have sent packets for a partition.
func (r *Router) disconnectPartition(part int) {
	for _, port := range r.local.Ports() {
		port.DisconnectShard(part, transport.CloseGoingAway, "")
	}
}

// Forward forwards packets, and ends of connections, to the node that has the shard. A
// packet that cannot be forwarded is dropped, and its connection, if any, ended. Without a
// router, which is nil, all are dropped.
func (r *Router) Forward(profile string, part int, in transport.Arrivals) {
	if r == nil {
		return
	}
	node := r.owned.Owner(part).Node
	m, to := r.mesh.Load(), mesh.Number(node)
	if node == "" {
		m = nil
	}
	f := mesh.Frame{Name: []byte(profile), Part: uint8(part)}
	for _, p := range in.Packets {
		if p.Peer.Node != r.self {
			continue // forwarded by another node already: it could go in a circle
		}
		f.Kind, f.Client, f.Data = mesh.KindPacket, p.Peer, p.Data
		if (m == nil || !m.Send(to, &f)) && p.Peer.Stream() {
			r.disconnect(profile, p.Peer)
		}
	}
	for _, peer := range in.Ended {
		if f.Kind, f.Client, f.Data = mesh.KindEnded, peer, nil; peer.Node == r.self && m != nil {
			m.Send(to, &f)
		}
	}
}

// forwardReply sends a packet to a client that is connected to another node.
func (r *Router) forwardReply(profile []byte, part int, to wamble.Peer, packet []byte) {
	if m := r.mesh.Load(); m != nil {
		m.Send(to.Node, &mesh.Frame{Kind: mesh.KindReply, Name: profile, Part: uint8(part), Client: to, Data: packet})
	}
}

func (r *Router) disconnect(profile string, peer wamble.Peer) {
	if p, ok := r.local.Profile(profile); ok {
		p.Port().Disconnect(peer, transport.CloseGoingAway, "")
	}
}

// receive handles frames of another node: packets and ends of connections for shards of
// this node, replies and disconnects for clients of this node, events, and requests for a
// heartbeat.
func (r *Router) receive(from uint32, frames []mesh.Frame) {
	var p Profile
	var name string
	var replies transport.Packets
	flush := func() {
		if len(replies) > 0 {
			p.Port().Send(&replies) // an error is a socket that is closed
			replies = replies[:0]
		}
	}
	for i := range frames {
		f := &frames[i]
		if f.Kind == mesh.KindLook {
			r.o.Log.Hasten(r.o.Journal)
			continue
		}
		if p == nil || name != string(f.Name) {
			flush()
			var ok bool
			name = string(f.Name)
			if p, ok = r.local.Profile(name); !ok || p.Port() == nil {
				p = nil
				continue
			}
		}
		switch f.Kind {
		case mesh.KindPacket:
			r.deliver(p, name, from, f)
		case mesh.KindReply:
			replies = append(replies, transport.Packet{Peer: wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route,
				Node: r.self}, Data: f.Data})
		case mesh.KindEnded:
			r.mu.Lock()
			delete(r.remoteConns, remoteConn{name, int(f.Part), f.Client})
			r.mu.Unlock()
			p.Port().DeliverEnd(int(f.Part), f.Client)
		case mesh.KindHangUp:
			p.Port().Disconnect(wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route, Node: r.self},
				transport.CloseGoingAway, "")
		case mesh.KindEvent:
			p.ShowViews(f.Data)
		}
	}
	flush()
}

// deliver puts a packet of another node's client into the inbox of its shard. If it is lost,
// the other node is told to end the client's connection.
func (r *Router) deliver(p Profile, name string, from uint32, f *mesh.Frame) {
	taken := p.HasShard(int(f.Part))
	if taken && f.Client.Stream() {
		r.mu.Lock()
		r.remoteConns[remoteConn{name, int(f.Part), f.Client}] = struct{}{}
		r.mu.Unlock()
	}
	taken = taken && p.Port().DeliverForwarded(int(f.Part), transport.Packet{Peer: f.Client, Data: f.Data})
	if m := r.mesh.Load(); !taken && f.Client.Stream() && m != nil {
		m.Send(from, &mesh.Frame{Kind: mesh.KindHangUp, Name: f.Name, Part: f.Part, Client: f.Client})
	}
}

// nodeLost handles the loss of the mesh connection to a node: the node's clients count as
// disconnected, and clients of this node that it served are disconnected.
func (r *Router) nodeLost(node uint32) {
	r.mu.Lock()
	var gone []remoteConn
	for s := range r.remoteConns {
		if s.peer.Node == node {
			gone = append(gone, s)
			delete(r.remoteConns, s)
		}
	}
	owners := slices.Clone(r.owners)
	r.mu.Unlock()
	for _, s := range gone {
		if p, ok := r.local.Profile(s.profile); ok && p.Port() != nil {
			p.Port().DeliverEnd(s.part, s.peer)
		}
	}
	for part, owner := range owners {
		if owner != "" && mesh.Number(owner) == node {
			r.disconnectPartition(part)
		}
	}
}

// Ask sends a question to another node and decodes the answer. Errors wrap mesh.ErrAway
// if the mesh is not open.
func (r *Router) Ask(ctx context.Context, node, what string, question, answer any) error {
	if r == nil {
		return fmt.Errorf("%s: %w: this machine has no cluster-address", node, mesh.ErrAway)
	}
	m := r.mesh.Load()
	if m == nil {
		return fmt.Errorf("%s: %w: this machine is starting", node, mesh.ErrAway)
	}
	b, err := json.Marshal(question)
	if err == nil {
		b, err = m.Ask(ctx, node, what, b)
	}
	if err == nil {
		err = json.Unmarshal(b, answer)
	}
	return err
}

// AskEach sends each node its question, concurrently, and calls answered for one answer at a time.
func AskEach[Q, A any](
	ctx context.Context, r *Router, what string, questions map[string]Q, answered func(node string, got A, err error),
) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for node, q := range questions {
		all.Go(func() {
			guard.Run("a question to another machine", func() {
				var got A
				err := r.Ask(ctx, node, what, q, &got)
				mu.Lock()
				defer mu.Unlock()
				answered(node, got, err)
			}, r.panicked)
		})
	}
	all.Wait()
}

func (r *Router) panicked(err error) {
	if r != nil {
		r.local.Panicked(err)
	}
}

// PublishViews publishes changed boards of a shard of this node to the nodes with watchers.
func (r *Router) PublishViews(name string, in *profile.BoardViews) {
	if r == nil {
		return
	}
	m := r.mesh.Load()
	if m == nil || !m.Wanted(name) {
		return
	}
	for i := range in.Boards {
		b, err := profile.AppendInput(nil, &profile.BoardViews{Boards: in.Boards[i : i+1]})
		if err == nil {
			m.Publish(name, uint64(in.Boards[i].Board.ID), b)
		}
	}
}

// republishViews publishes all boards of a profile on this node, because another node has
// subscribed or connected again.
func (r *Router) republishViews(name string) {
	if p, ok := r.local.Profile(name); ok {
		p.ResendViews()
	}
}

// Subscribe subscribes to a profile's boards on other nodes, or ends that.
func (r *Router) Subscribe(name string, watched bool) {
	if r != nil {
		if m := r.mesh.Load(); m != nil {
			m.Subscribe(name, watched)
		}
	}
}

// Mesh returns the connections to the other nodes; nil until they can be opened.
func (r *Router) Mesh() *mesh.Mesh { return r.mesh.Load() }

// RemoteConns returns how many connections at other nodes have sent packets to this one.
func (r *Router) RemoteConns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.remoteConns)
}

// Players predict on boards of other nodes, and watch them. The node that serves the player
// asks the holders of the shards.

const (
	// maxBoardQuestions bounds the concurrent questions about boards. A node answers few at a
	// time, and other questions need room, too.
	maxBoardQuestions = 8
	// boardQuestionTimeout bounds the answers of other nodes. Past it the player is told to try again.
	boardQuestionTimeout = 2 * time.Second
)

// BoardQuestion asks a node about a board that may be in one of the shards.
type BoardQuestion struct {
	Profile string
	Shards  []int
	Ask     profile.BoardRequest
}

// AskRemoteShards asks the holders of shards about a board. Told is nil if none of them has it. An
// error says that not all answered.
func (r *Router) AskRemoteShards(ctx context.Context, name string, shards []int,
	in profile.BoardRequest) (told *profile.BoardReply, err error) {
	questions := map[string]BoardQuestion{}
	for _, shard := range shards {
		owner := r.owned.Owner(shard)
		if owner.Node == "" || owner.Local { // being claimed or released
			err = loop.ErrNotUp
			continue
		}
		q := questions[owner.Node]
		questions[owner.Node] = BoardQuestion{name, append(q.Shards, shard), in}
	}
	select {
	case r.questionSlots <- struct{}{}:
		defer func() { <-r.questionSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, boardQuestionTimeout)
	defer cancel()
	AskEach(ctx, r, "board", questions, func(_ string, said *profile.BoardReply, no error) {
		switch {
		case no != nil:
			err = no
		case said != nil && said.Known:
			told = said
		}
	})
	return told, err
}
