package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
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
	self          uint32
	mesh          *mesh.Mesh
	questionSlots chan struct{} // semaphore of questions about boards

	mu          sync.Mutex              // guards what follows
	owners      []string                // last known holder of each partition
	remoteConns map[remoteConn]struct{} // connections at other nodes that have sent packets here
}

// remoteConn is a connection at another node whose packets go to a shard of this node.
type remoteConn struct {
	profile string
	part    int
	peer    wamble.Peer
}

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
}

// Listen opens a router that listens at an address. Connections of the live nodes of owners are
// accepted. Errors: that of the listener.
func Listen(o Options, address string, owners *Owners, local Local) (*Router, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	r := &Router{
		o: o, local: local, owned: owners, self: mesh.Number(o.Node),
		questionSlots: make(chan struct{}, maxBoardQuestions), remoteConns: map[remoteConn]struct{}{},
	}
	r.mesh, err = mesh.Open(l, mesh.Options{
		Name: o.Node, Receive: r.receive, Event: r.showViews, Answer: local.Answer, Subscribed: r.republishViews,
		Unlisted: func() { o.Log.Hasten(o.Journal) }, Lost: r.connectionLost, Left: r.nodeLeft,
		Report: local.Panicked, Log: o.Logger,
	})
	if err != nil {
		l.Close()
		return nil, err
	}
	return r, nil
}

// Number returns the mesh number of this node; 0 if it has no cluster-address.
func (r *Router) Number() uint32 {
	if r == nil {
		return 0
	}
	return r.self
}

// Close ends the connections.
func (r *Router) Close() error { return r.mesh.Close() }

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

// updateNodes passes the live nodes to the mesh.
func (r *Router) updateNodes() { r.mesh.SetNodes(slices.Collect(maps.Values(r.owned.LiveNodes()))) }

// NotifyChange makes the connected nodes send their next heartbeat at once.
func (r *Router) NotifyChange() {
	for _, name := range r.mesh.Connected() {
		r.mesh.Send(mesh.Number(name), &mesh.Frame{Kind: mesh.KindLook})
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
	to := mesh.Number(node)
	f := mesh.Frame{Name: []byte(profile), Part: uint8(part)}
	for _, p := range in.Packets {
		if p.Peer.Node != r.self {
			continue // forwarded by another node already: it could go in a circle
		}
		f.Kind, f.Client, f.Data = mesh.KindPacket, p.Peer, p.Data
		if (node == "" || !r.mesh.Send(to, &f)) && p.Peer.Stream() {
			r.disconnect(profile, p.Peer)
		}
	}
	for _, peer := range in.Ended {
		if f.Kind, f.Client, f.Data = mesh.KindEnded, peer, nil; peer.Node == r.self && node != "" {
			r.mesh.Send(to, &f)
		}
	}
}

// forwardReply sends a packet to a client that is connected to another node.
func (r *Router) forwardReply(profile []byte, part int, to wamble.Peer, packet []byte) {
	r.mesh.Send(to.Node, &mesh.Frame{Kind: mesh.KindReply, Name: profile, Part: uint8(part), Client: to, Data: packet})
}

func (r *Router) disconnect(profile string, peer wamble.Peer) {
	if p, ok := r.local.Profile(profile); ok {
		p.Port().Disconnect(peer, transport.CloseGoingAway, "")
	}
}

// receive handles frames of another node: packets and ends of connections for shards of
// this node, replies and disconnects for clients of this node, and requests for a heartbeat.
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
	if !taken && f.Client.Stream() {
		r.mesh.Send(from, &mesh.Frame{Kind: mesh.KindHangUp, Name: f.Name, Part: f.Part, Client: f.Client})
	}
}

// nodeLeft handles the end of the connection from a node: the node's clients count as disconnected.
func (r *Router) nodeLeft(node uint32) {
	r.mu.Lock()
	var gone []remoteConn
	for s := range r.remoteConns {
		if s.peer.Node == node {
			gone = append(gone, s)
			delete(r.remoteConns, s)
		}
	}
	r.mu.Unlock()
	for _, s := range gone {
		if p, ok := r.local.Profile(s.profile); ok && p.Port() != nil {
			p.Port().DeliverEnd(s.part, s.peer)
		}
	}
}

// connectionLost handles the loss of the connection to a node: clients of this node that the other one
// serves are disconnected.
func (r *Router) connectionLost(node uint32) {
	r.mu.Lock()
	owners := slices.Clone(r.owners)
	r.mu.Unlock()
	for part, owner := range owners {
		if owner != "" && mesh.Number(owner) == node {
			r.disconnectPartition(part)
		}
	}
}

// Ask sends a question to another node and decodes the answer.
func (r *Router) Ask(ctx context.Context, node, what string, question, answer any) error {
	if r == nil {
		return fmt.Errorf("%s: %w: this machine has no cluster-address", node, mesh.ErrAway)
	}
	b, err := json.Marshal(question)
	if err == nil {
		b, err = r.mesh.Ask(ctx, node, what, b)
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
	if r == nil || !r.mesh.Wanted(name) {
		return
	}
	for i := range in.Boards {
		b, err := profile.AppendInput(nil, &profile.BoardViews{Boards: in.Boards[i : i+1]})
		if err == nil {
			r.mesh.Publish(name, uint64(in.Boards[i].Board.ID), b)
		}
	}
}

// showViews passes changed boards of another node to the watchers of a profile.
func (r *Router) showViews(name string, data []byte) {
	if p, ok := r.local.Profile(name); ok {
		p.ShowViews(data)
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
		r.mesh.Subscribe(name, watched)
	}
}

// Mesh returns the connections to the other nodes.
func (r *Router) Mesh() *mesh.Mesh { return r.mesh }

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
