package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/mesh"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// router routes packets between the nodes of a cluster. A packet for a shard on another
// node is forwarded there over the mesh. Its answer comes back and leaves by the socket that
// the player wrote to.
//
//	player ─▶ port of a remote shard ─▶ stray ──mesh──▶ receive ─▶ inbox of the shard
//	player ◀─ port ◀─ receive ◀──mesh── reply ◀─ Port.Send ◀─ its loop
type router struct {
	s             *Server
	self          uint32
	listener      net.Listener
	questionSlots chan struct{}             // semaphore of questions about boards
	mesh          atomic.Pointer[mesh.Mesh] // nil until its key is known

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

// meshKey is the name of the note with the key of the mesh, which the first node generates.
const meshKey = "mesh/key"

// joinPause is the pause after a failure to open the mesh.
const joinPause = 500 * time.Millisecond

// openMesh binds cluster-address, if it is set and the journal is distributed.
func (s *Server) openMesh() error {
	address := s.o.Config.Server.ClusterAddress
	if address == "" || !s.isPartitioned() {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for other machines: %w\ncluster-address must be an address of this machine, and its port must be free", err)
	}
	j := &router{s: s, self: mesh.Number(nodeName(s.o.Config)), listener: l, questionSlots: make(chan struct{}, maxBoardQuestions), remoteConns: map[remoteConn]struct{}{}}
	s.router, s.forward, s.partitionOwners.changed = j, j.forward, j.applyOwners
	s.closers = append(s.closers, j.close)
	return nil
}

// number returns the mesh number of this node; 0 if it has no cluster-address.
func (r *router) number() uint32 {
	if r == nil {
		return 0
	}
	return r.self
}

func (r *router) close() error {
	r.mu.Lock()
	r.closed = true
	m := r.mesh.Swap(nil)
	r.mu.Unlock()
	if m != nil {
		return ignoreClosed(m.Close())
	}
	return ignoreClosed(r.listener.Close())
}

// run opens the mesh, and tries again until that succeeds or ctx ends.
func (r *router) run(ctx context.Context) {
	for {
		err := r.open(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		r.s.log.Warn("other machines do not reach this one yet", "err", err)
		sleep(ctx, joinPause)
	}
}

func (r *router) open(ctx context.Context) error {
	key, err := r.key(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	m, err := mesh.Open(r.listener, mesh.Options{
		Name: nodeName(r.s.o.Config), Key: key, Receive: r.receive, Answer: r.answer, Subscribed: r.republishViews, Lost: r.nodeLost, Report: r.s.reportPanic, Log: r.s.log,
	})
	if err != nil {
		return err
	}
	r.mesh.Store(m)
	address := r.s.o.Config.Server.ClusterAddress
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" { // the kernel has chosen
		_, port, _ = net.SplitHostPort(r.listener.Addr().String())
		address = net.JoinHostPort(host, port)
	}
	r.s.meshAddress.Store(&address)
	r.updateNodes()
	return nil
}

// key reads the key of the mesh, or generates it if there is none.
func (r *router) key(ctx context.Context) (key mesh.Key, err error) {
	c := &r.s.sharedJournal
	err = c.log.Amend(ctx, c.name, meshKey, func(value string) (string, error) {
		if value == "" {
			rand.Read(key[:])
			return base64.StdEncoding.EncodeToString(key[:]), nil
		}
		b, err := base64.StdEncoding.DecodeString(value)
		if err != nil || len(b) != len(key) {
			return "", fmt.Errorf("the note %s of the journal's database is no key", meshKey)
		}
		key = mesh.Key(b)
		return value, nil
	})
	return key, err
}

// joinPort makes a port send packets for clients of other nodes over the mesh.
func (s *Server) joinPort(profile string, p *transport.Port) {
	if j := s.router; j != nil && p != nil {
		name := []byte(profile)
		p.Join(j.self, func(shard int, to wamble.Peer, packet []byte) { j.forwardReply(name, shard, to, packet) })
	}
}

// applyOwners is called when nodes or holders of partitions have changed. It ends the connections
// whose partition got another holder: packets that were under way may be lost, and the
// client learns the state when it connects again.
func (r *router) applyOwners() {
	r.updateNodes()
	var owners []string
	for _, l := range *r.s.partitionOwners.current.Load() {
		owners = append(owners, l.node)
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
func (r *router) updateNodes() {
	m := r.mesh.Load()
	if m == nil {
		return
	}
	var list []mesh.Node
	for name, address := range r.s.partitionOwners.liveNodes() {
		list = append(list, mesh.Node{Name: name, Address: address})
	}
	m.SetNodes(list)
}

// notifyChange makes the connected nodes send their next heartbeat at once.
func (r *router) notifyChange() {
	if m := r.mesh.Load(); m != nil {
		for _, name := range m.Connected() {
			m.Send(mesh.Number(name), &mesh.Frame{Kind: mesh.KindLook})
		}
	}
}

// disconnectPartition ends the connections at this node that have sent packets for a partition.
func (r *router) disconnectPartition(part int) {
	for _, p := range r.s.profiles() {
		if port := p.Port(); port != nil && part < len(p.shards) {
			port.DisconnectShard(part, transport.CloseGoingAway, "")
		}
	}
}

// forward forwards packets, and ends of connections, to the node that has the shard. A
// packet that cannot be forwarded is dropped, and its connection, if any, ended.
func (r *router) forward(profile string, part int, in transport.Arrivals) {
	node, _, _ := r.s.partitionOwners.owner(part)
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
func (r *router) forwardReply(profile []byte, part int, to wamble.Peer, packet []byte) {
	if m := r.mesh.Load(); m != nil {
		m.Send(to.Node, &mesh.Frame{Kind: mesh.KindReply, Name: profile, Part: uint8(part), Client: to, Data: packet})
	}
}

func (r *router) disconnect(profile string, peer wamble.Peer) {
	if p := r.s.profile(profile); p != nil {
		p.Port().Disconnect(peer, transport.CloseGoingAway, "")
	}
}

// receive handles frames of another node: packets and ends of connections for shards of
// this node, replies and disconnects for clients of this node, events, and requests for a
// heartbeat.
func (r *router) receive(from uint32, frames []mesh.Frame) {
	var p *Profile
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
			r.s.sharedJournal.log.Hasten(r.s.sharedJournal.name)
			continue
		}
		if p == nil || p.name != string(f.Name) {
			flush()
			if p = r.s.profile(string(f.Name)); p == nil || p.Port() == nil {
				p = nil
				continue
			}
		}
		switch f.Kind {
		case mesh.KindPacket:
			r.deliver(p, from, f)
		case mesh.KindReply:
			replies = append(replies, transport.Packet{Peer: wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route, Node: r.self}, Data: f.Data})
		case mesh.KindEnded:
			r.mu.Lock()
			delete(r.remoteConns, remoteConn{p.name, int(f.Part), f.Client})
			r.mu.Unlock()
			p.Port().DeliverEnd(int(f.Part), f.Client)
		case mesh.KindHangUp:
			p.Port().Disconnect(wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route, Node: r.self}, transport.CloseGoingAway, "")
		case mesh.KindEvent:
			p.showRemoteViews(f.Data)
		}
	}
	flush()
}

// deliver puts a packet of another node's client into the inbox of its shard. If it is lost,
// the other node is told to end the client's connection.
func (r *router) deliver(p *Profile, from uint32, f *mesh.Frame) {
	sh := p.shardOf(int(f.Part))
	taken := sh != nil && !sh.isRemote()
	if taken && f.Client.Stream() {
		r.mu.Lock()
		r.remoteConns[remoteConn{p.name, int(f.Part), f.Client}] = struct{}{}
		r.mu.Unlock()
	}
	taken = taken && p.Port().DeliverForwarded(int(f.Part), transport.Packet{Peer: f.Client, Data: f.Data})
	if m := r.mesh.Load(); !taken && f.Client.Stream() && m != nil {
		m.Send(from, &mesh.Frame{Kind: mesh.KindHangUp, Name: f.Name, Part: f.Part, Client: f.Client})
	}
}

// nodeLost handles the loss of the mesh connection to a node: the node's clients count as
// disconnected, and clients of this node that it served are disconnected.
func (r *router) nodeLost(node uint32) {
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
		if p := r.s.profile(s.profile); p != nil && p.Port() != nil {
			p.Port().DeliverEnd(s.part, s.peer)
		}
	}
	for part, owner := range owners {
		if owner != "" && mesh.Number(owner) == node {
			r.disconnectPartition(part)
		}
	}
}

// answer answers a question of another node.
func (r *router) answer(ctx context.Context, _, what string, question []byte) ([]byte, error) {
	switch what {
	case "node":
		return json.Marshal(r.s.nodeStatus(ctx))
	case "feed":
		return r.s.answerFeed(question)
	case "events":
		return r.s.answerEvents(ctx, question)
	case "board":
		return r.s.answerBoard(ctx, question)
	}
	return nil, fmt.Errorf("%q is not known here", what)
}

// ask sends a question to another node and decodes the answer. Errors wrap mesh.ErrAway
// if the mesh is not open.
func (r *router) ask(ctx context.Context, node, what string, question, answer any) error {
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

// publishViews publishes changed boards of a shard of this node to the nodes with watchers.
func (r *router) publishViews(name string, in *profile.BoardViews) {
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
func (r *router) republishViews(name string) {
	if p := r.s.profile(name); p != nil {
		for _, sh := range p.localShards() {
			sh.runtime.ResendViews()
		}
	}
}

// subscribe subscribes to a profile's boards on other nodes, or ends that.
func (r *router) subscribe(name string, watched bool) {
	if r != nil {
		if m := r.mesh.Load(); m != nil {
			m.Subscribe(name, watched)
		}
	}
}

// showRemoteViews passes changed boards of another node to the shards that have watchers.
func (p *Profile) showRemoteViews(data []byte) {
	r := pack.NewReader(data)
	in, ok := profile.ReadInput(&r).(*profile.BoardViews)
	if !ok || !r.Ended() {
		return
	}
	for _, sh := range p.localShards() {
		if sh.runtime.Count().Watched {
			sh.runtime.ShowViews(in)
		}
	}
}

// remotePort reads the port of a shard that another node has, and passes the packets to
// Server.forward. The zero value reads nothing. It is not safe for concurrent use.
type remotePort struct {
	stop context.CancelFunc // ends reading; nil if it does not read
	done chan struct{}      // closed when reading has ended
}

// begin starts reading, until end.
func (p *remotePort) begin(sh *Shard) {
	port, forward := sh.runtime.Port(), sh.profile.server.forward
	if p.stop != nil || port == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.done = done
	p.stop = func() {
		cancel()
		port.Wake()
	}
	go func() {
		defer close(done)
		guard.Run("the port of an absent shard", func() {
			for ctx.Err() == nil {
				in, err := port.Receive(time.Time{})
				if err != nil {
					return // the port is closed
				}
				if forward != nil && len(in.Packets)+len(in.Ended) > 0 {
					forward(sh.profile.name, sh.index, in)
				}
			}
		}, sh.reportPanic)
	}()
}

// end stops reading, and reports whether it was reading.
func (p *remotePort) end() bool {
	if p.stop == nil {
		return false
	}
	p.stop()
	<-p.done
	p.stop = nil
	return true
}
