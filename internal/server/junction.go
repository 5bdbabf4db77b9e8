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
	"wamble/internal/mesh"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/transport"
)

// junction routes packets between the nodes of a cluster. A packet for a shard on another
// node is forwarded there over the mesh. Its answer comes back and leaves by the socket that
// the player wrote to.
//
//	player ─▶ port of a remote shard ─▶ stray ──mesh──▶ receive ─▶ inbox of the shard
//	player ◀─ port ◀─ receive ◀──mesh── reply ◀─ Port.Send ◀─ its loop
type junction struct {
	s        *Server
	self     uint32
	listener net.Listener
	asking   chan struct{}             // semaphore of questions about boards
	mesh     atomic.Pointer[mesh.Mesh] // nil until its key is known

	mu      sync.Mutex // guards what follows
	closed  bool
	owners  []string            // last known holder of each partition
	streams map[stream]struct{} // connections at other nodes that have sent packets here
}

// stream is a connection at another node whose packets go to a shard of this node.
type stream struct {
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
	if address == "" || !s.placed() {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen for other machines: %w\ncluster-address must be an address of this machine, and its port must be free", err)
	}
	j := &junction{s: s, self: mesh.Number(nodeName(s.o.Config)), listener: l, asking: make(chan struct{}, mostAsking), streams: map[stream]struct{}{}}
	s.junction, s.stray, s.places.changed = j, j.stray, j.see
	s.closers = append(s.closers, j.close)
	return nil
}

// number returns the mesh number of this node; 0 if it has no cluster-address.
func (j *junction) number() uint32 {
	if j == nil {
		return 0
	}
	return j.self
}

func (j *junction) close() error {
	j.mu.Lock()
	j.closed = true
	m := j.mesh.Swap(nil)
	j.mu.Unlock()
	if m != nil {
		return ignoreClosed(m.Close())
	}
	return ignoreClosed(j.listener.Close())
}

// run opens the mesh, and tries again until that succeeds or ctx ends.
func (j *junction) run(ctx context.Context) {
	for {
		err := j.open(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		j.s.log.Warn("other machines do not reach this one yet", "err", err)
		wait(ctx, joinPause)
	}
}

func (j *junction) open(ctx context.Context) error {
	key, err := j.key(ctx)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	m, err := mesh.Open(j.listener, mesh.Options{
		Name: nodeName(j.s.o.Config), Key: key, Receive: j.receive, Answer: j.answer, Subscribed: j.showAgain, Lost: j.lost, Report: j.s.caught, Log: j.s.log,
	})
	if err != nil {
		return err
	}
	j.mesh.Store(m)
	address := j.s.o.Config.Server.ClusterAddress
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" { // the kernel has chosen
		_, port, _ = net.SplitHostPort(j.listener.Addr().String())
		address = net.JoinHostPort(host, port)
	}
	j.s.meshAddress.Store(&address)
	j.tellNodes()
	return nil
}

// key reads the key of the mesh, or generates it if there is none.
func (j *junction) key(ctx context.Context) (key mesh.Key, err error) {
	c := &j.s.cluster
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
	if j := s.junction; j != nil && p != nil {
		name := []byte(profile)
		p.Join(j.self, func(shard int, to wamble.Peer, packet []byte) { j.reply(name, shard, to, packet) })
	}
}

// see is called when nodes or holders of partitions have changed. It ends the connections
// whose partition got another holder: packets that were under way may be lost, and the
// client learns the state when it connects again.
func (j *junction) see() {
	j.tellNodes()
	var owners []string
	for _, l := range *j.s.places.now.Load() {
		owners = append(owners, l.node)
	}
	j.mu.Lock()
	before := j.owners
	j.owners = owners
	j.mu.Unlock()
	for part, was := range before {
		if was != "" && owners[part] != was {
			j.hangUp(part)
		}
	}
}

// tellNodes passes the live nodes and their addresses to the mesh.
func (j *junction) tellNodes() {
	m := j.mesh.Load()
	if m == nil {
		return
	}
	var list []mesh.Node
	for name, address := range j.s.places.living() {
		list = append(list, mesh.Node{Name: name, Address: address})
	}
	m.SetNodes(list)
}

// tell makes the connected nodes send their next heartbeat at once.
func (j *junction) tell() {
	if m := j.mesh.Load(); m != nil {
		for _, name := range m.Connected() {
			m.Send(mesh.Number(name), &mesh.Frame{Kind: mesh.KindLook})
		}
	}
}

// hangUp ends the connections at this node that have sent packets for a partition.
func (j *junction) hangUp(part int) {
	for _, k := range j.s.supervisors() {
		if port := k.Port(); port != nil && part <= len(k.siblings) {
			port.HangUp(part, transport.CloseGoingAway, "")
		}
	}
}

// stray forwards packets, and ends of connections, to the node that has the shard. A
// packet that cannot be forwarded is dropped, and its connection, if any, ended.
func (j *junction) stray(profile string, part int, in transport.Arrivals) {
	node, _, _ := j.s.places.owner(part)
	m, to := j.mesh.Load(), mesh.Number(node)
	if node == "" {
		m = nil
	}
	f := mesh.Frame{Name: []byte(profile), Part: uint8(part)}
	for _, p := range in.Packets {
		if p.Peer.Node != j.self {
			continue // forwarded by another node already: it could go in a circle
		}
		f.Kind, f.Client, f.Data = mesh.KindPacket, p.Peer, p.Data
		if (m == nil || !m.Send(to, &f)) && p.Peer.Stream() {
			j.disconnect(profile, p.Peer)
		}
	}
	for _, peer := range in.Ended {
		if f.Kind, f.Client, f.Data = mesh.KindEnded, peer, nil; peer.Node == j.self && m != nil {
			m.Send(to, &f)
		}
	}
}

// reply sends a packet to a client that is connected to another node.
func (j *junction) reply(profile []byte, part int, to wamble.Peer, packet []byte) {
	if m := j.mesh.Load(); m != nil {
		m.Send(to.Node, &mesh.Frame{Kind: mesh.KindReply, Name: profile, Part: uint8(part), Client: to, Data: packet})
	}
}

func (j *junction) disconnect(profile string, peer wamble.Peer) {
	if k := j.s.supervisor(profile); k != nil {
		k.Port().Disconnect(peer, transport.CloseGoingAway, "")
	}
}

// receive handles frames of another node: packets and ends of connections for shards of
// this node, replies and disconnects for clients of this node, events, and requests for a
// heartbeat.
func (j *junction) receive(from uint32, frames []mesh.Frame) {
	var k *supervisor
	var replies transport.Packets
	flush := func() {
		if len(replies) > 0 {
			k.Port().Send(&replies) // an error is a socket that is closed
			replies = replies[:0]
		}
	}
	for i := range frames {
		f := &frames[i]
		if f.Kind == mesh.KindLook {
			j.s.cluster.log.Hasten(j.s.cluster.name)
			continue
		}
		if k == nil || k.name != string(f.Name) {
			flush()
			if k = j.s.supervisor(string(f.Name)); k == nil || k.Port() == nil {
				k = nil
				continue
			}
		}
		switch f.Kind {
		case mesh.KindPacket:
			j.take(k, from, f)
		case mesh.KindReply:
			replies = append(replies, transport.Packet{Peer: wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route, Node: j.self}, Data: f.Data})
		case mesh.KindEnded:
			j.mu.Lock()
			delete(j.streams, stream{k.name, int(f.Part), f.Client})
			j.mu.Unlock()
			k.Port().PassEnd(int(f.Part), f.Client)
		case mesh.KindHangUp:
			k.Port().Disconnect(wamble.Peer{Addr: f.Client.Addr, Route: f.Client.Route, Node: j.self}, transport.CloseGoingAway, "")
		case mesh.KindEvent:
			k.seeAbroad(f.Data)
		}
	}
	flush()
}

// take puts a packet of another node's client into the inbox of its shard. If it is lost,
// the other node is told to end the client's connection.
func (j *junction) take(k *supervisor, from uint32, f *mesh.Frame) {
	l := k.shardOf(int(f.Part))
	taken := l != nil && !l.isAway()
	if taken && f.Client.Stream() {
		j.mu.Lock()
		j.streams[stream{k.name, int(f.Part), f.Client}] = struct{}{}
		j.mu.Unlock()
	}
	taken = taken && k.Port().Pass(int(f.Part), transport.Packet{Peer: f.Client, Data: f.Data})
	if m := j.mesh.Load(); !taken && f.Client.Stream() && m != nil {
		m.Send(from, &mesh.Frame{Kind: mesh.KindHangUp, Name: f.Name, Part: f.Part, Client: f.Client})
	}
}

// lost handles the loss of the mesh connection to a node: the node's clients count as
// disconnected, and clients of this node that it served are disconnected.
func (j *junction) lost(node uint32) {
	j.mu.Lock()
	var gone []stream
	for s := range j.streams {
		if s.peer.Node == node {
			gone = append(gone, s)
			delete(j.streams, s)
		}
	}
	owners := slices.Clone(j.owners)
	j.mu.Unlock()
	for _, s := range gone {
		if k := j.s.supervisor(s.profile); k != nil && k.Port() != nil {
			k.Port().PassEnd(s.part, s.peer)
		}
	}
	for part, owner := range owners {
		if owner != "" && mesh.Number(owner) == node {
			j.hangUp(part)
		}
	}
}

// answer answers a question of another node.
func (j *junction) answer(ctx context.Context, _, what string, question []byte) ([]byte, error) {
	switch what {
	case "node":
		return json.Marshal(j.s.nodeStatus(ctx))
	case "feed":
		return j.s.answerFeed(question)
	case "events":
		return j.s.answerEvents(ctx, question)
	case "board":
		return j.s.answerBoard(ctx, question)
	}
	return nil, fmt.Errorf("%q is not known here", what)
}

// ask sends a question to another node and decodes the answer. Errors wrap mesh.ErrAway
// if the mesh is not open.
func (j *junction) ask(ctx context.Context, node, what string, question, answer any) error {
	if j == nil {
		return fmt.Errorf("%s: %w: this machine has no cluster-address", node, mesh.ErrAway)
	}
	m := j.mesh.Load()
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

// show publishes changed boards of a shard of this node to the nodes with watchers.
func (j *junction) show(name string, in *profile.Sights) {
	if j == nil {
		return
	}
	m := j.mesh.Load()
	if m == nil || !m.Wanted(name) {
		return
	}
	for i := range in.Boards {
		b, err := profile.AppendInput(nil, &profile.Sights{Boards: in.Boards[i : i+1]})
		if err == nil {
			m.Publish(name, uint64(in.Boards[i].Board.ID), b)
		}
	}
}

// showAgain publishes all boards of a profile on this node, because another node has
// subscribed or connected again.
func (j *junction) showAgain(name string) {
	if k := j.s.supervisor(name); k != nil {
		for _, l := range k.here() {
			l.ShowAgain()
		}
	}
}

// watch subscribes to a profile's boards on other nodes, or ends that.
func (j *junction) watch(name string, watched bool) {
	if j != nil {
		if m := j.mesh.Load(); m != nil {
			m.Subscribe(name, watched)
		}
	}
}

// seeAbroad passes changed boards of another node to the shards that have watchers.
func (k *supervisor) seeAbroad(data []byte) {
	r := pack.NewReader(data)
	in, ok := profile.ReadInput(&r).(*profile.Sights)
	if !ok || !r.Ended() {
		return
	}
	for _, l := range k.here() {
		if l.Count().Watched {
			l.See(in)
		}
	}
}
