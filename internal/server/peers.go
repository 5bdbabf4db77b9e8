package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"time"

	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/transport"
	"wamble/runner"
)

// openMesh binds cluster-address, if it is set and the journal is distributed.
func (s *Server) openMesh() error {
	address := s.o.Config.Server.ClusterAddress
	if address == "" || !s.isPartitioned() {
		return nil
	}
	r, err := cluster.Listen(s.clusterOptions(), address, &s.partitionOwners, cluster.Local{
		Profile: func(name string) (cluster.Profile, bool) {
			p := s.profile(name)
			return p, p != nil
		},
		Ports: func() (list []*transport.Port) {
			for _, p := range s.profiles() {
				if port := p.Port(); port != nil {
					list = append(list, port)
				}
			}
			return list
		},
		Answer: s.answer, Panicked: s.reportPanic,
	})
	if err != nil {
		return fmt.Errorf("listen for other machines: %w\ncluster-address must be an address of this machine, and its port must be free", err)
	}
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" { // the kernel has chosen
		address = net.JoinHostPort(host, strconv.Itoa(r.Mesh().Addr().(*net.TCPAddr).Port))
	}
	s.router, s.partitionOwners.Changed = r, r.ApplyOwners
	s.meshAddress.Store(&address) // heartbeat reads s.router after it
	s.beatNow()                   // others let this process in when they know its key
	s.closers = append(s.closers, r.Close)
	return nil
}

// answer answers a question of another node.
func (s *Server) answer(ctx context.Context, _, what string, question []byte) ([]byte, error) {
	switch what {
	case "node":
		return json.Marshal(s.nodeStatus(ctx))
	case "feed":
		return s.answerFeed(question)
	case "events":
		return s.answerEvents(ctx, question)
	case "board":
		return s.answerBoard(ctx, question)
	}
	return nil, fmt.Errorf("%q is not known here", what)
}

// heartbeat returns what this node sends with a heartbeat: its mesh address, its public key, and its
// report.
func (s *Server) heartbeat() (address, key, note string) {
	if at := s.meshAddress.Load(); at != nil {
		address, key = *at, s.router.Mesh().Key()
	}
	all := cluster.Report{}
	for _, prof := range s.profiles() {
		of, open := cluster.RemoteShards{}, prof.openMask()
		for _, sh := range prof.localShards() {
			if up, _ := sh.runtime.Stage(); up {
				of[sh.index] = cluster.ShardReport{
					ShardCount: sh.runtime.Count(), Open: open&(1<<sh.index) != 0,
					FeedPosition: s.localFeedPosition(sh),
				}
			}
		}
		all[prof.name] = of
	}
	if s.rebalancer.nodeDrain.Load() != nil {
		all[cluster.DrainingMarker] = cluster.RemoteShards{}
	}
	if s.changing() {
		all[cluster.ChangingMarker] = cluster.RemoteShards{}
	}
	b, err := json.Marshal(all)
	s.warn(err)
	return address, key, string(b)
}

// localFeedPosition returns the state of the feed in a shard's partition, for the report.
func (s *Server) localFeedPosition(sh *Shard) (said cluster.FeedPosition) {
	if p := sh.partition.Load(); p != nil {
		said = cluster.FeedPosition{Journal: feedName(p.runner), End: journal.FeedEnd(p.runner)}
		s.rebalancer.peers.SetPosition(sh.index, said)
	}
	return said
}

// applyHostInput applies a host's command that was given on another node to the shards on this node.
// Restrictions are left out: they arrive as notes (see applyRestrictions).
func (p *Profile) applyHostInput(in profile.Input) {
	if !profile.ScopeOf(in).Lasts() {
		p.sendToLocalShards(in)
	}
}

// sendRestrictions passes the current restrictions of the profile to the shards on this node.
func (p *Profile) sendRestrictions() {
	p.restrictionsMu.Lock()
	defer p.restrictionsMu.Unlock()
	for _, in := range p.restrictions.State() {
		p.sendToLocalShards(in)
	}
}

// sendToLocalShards passes an input to the shards on this node without waiting for them.
func (p *Profile) sendToLocalShards(in profile.Input) {
	for _, sh := range p.localShards() {
		sh.runtime.Send(in)
	}
}

// peerMember represents the other nodes in the registry of a database. It sends them the
// changes made on this node.
type peerMember struct {
	*cluster.Peers
	database string
}

var _ registry.PeerMember = (*peerMember)(nil)

// AwaitApplied implements registry.Member. It returns at once: what other nodes have decided is
// awaited by their cursors in the database.
func (*peerMember) AwaitApplied(context.Context, registry.Subject) (bool, error) { return false, nil }

// Notify implements registry.Member.
func (c *peerMember) Notify(events *profile.StoreEvents) {
	c.Publish(c.database, events)
}

// sharedRestrictions is an admin.TextStore that keeps the host's restrictions in notes, which all nodes
// receive.
type sharedRestrictions struct{ s *Server }

const restrictionsPrefix = "standing/"

// Read returns the restrictions as they were received last. They are complete before this
// node claims its first partition.
func (r sharedRestrictions) Read(name string) (string, error) {
	r.s.rebalancer.mu.Lock()
	defer r.s.rebalancer.mu.Unlock()
	return r.s.rebalancer.restrictions[name], nil
}

func (r sharedRestrictions) Amend(ctx context.Context, name string, change func(string) (string, error)) error {
	c := &r.s.sharedJournal
	return c.log.Amend(ctx, c.name, restrictionsPrefix+name, change)
}

// importRestrictions copies restrictions from the journal of partition 0 into the notes, unless these
// are newer. Older versions kept them in the journal if a profile had one shard.
func (s *Server) importRestrictions(ctx context.Context, r *runner.Runner) error {
	wanted, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	names := []string{""} // which stands for all profiles
	for _, cfg := range wanted {
		names = append(names, cfg.Name)
	}
	for _, name := range names {
		old, err := admin.InJournal(r).Read(name)
		if err == nil && old != "" {
			err = sharedRestrictions{s}.Amend(ctx, name, func(now string) (text string, err error) {
				text, err = admin.NewerRestrictions(now, old)
				s.rebalancer.mu.Lock()
				defer s.rebalancer.mu.Unlock()
				s.rebalancer.restrictions[name] = text
				return text, err
			})
		}
		if err != nil {
			return fmt.Errorf("the restrictions of profile %q: %w", name, err)
		}
	}
	return nil
}

// applyImported applies what importRestrictions has found.
func (s *Server) applyImported() {
	s.rebalancer.mu.Lock()
	found := maps.Clone(s.rebalancer.restrictions)
	s.rebalancer.mu.Unlock()
	for name, text := range found {
		s.applyRestrictions(name, text)
	}
}

// applyNotes applies the received notes: restrictions and messages.
func (s *Server) applyNotes() {
	s.receivedNotes.Apply(func(name, value string) {
		guard.Run("a message of another node", func() { s.rebalancer.peers.ReadBatch(name, value, s.applyMessage) },
			s.reportPanic)
	}, func(name, value string) {
		if profile, ok := strings.CutPrefix(name, restrictionsPrefix); ok {
			s.applyRestrictions(profile, value)
		}
	})
}

// applyMessage applies a message of another node: changes in a database, or a host's command.
func (s *Server) applyMessage(from cluster.Message, in profile.Input) {
	events, ok := in.(*profile.StoreEvents)
	if !ok {
		if prof := s.profile(from.Profile); prof != nil {
			prof.applyHostInput(in)
		}
		return
	}
	for _, db := range s.stores.all() {
		if db.database == from.Database {
			db.Registry.Publish(db.peerMember, events.Changes)
			return
		}
	}
}

// applyRestrictions applies the host's restrictions of a profile, or with "" of all profiles,
// that were changed on any node, and passes them to the shards on this node.
func (s *Server) applyRestrictions(name, value string) {
	s.rebalancer.mu.Lock()
	if newer, err := admin.NewerRestrictions(value, s.rebalancer.restrictions[name]); err == nil {
		value = newer
	}
	s.rebalancer.restrictions[name] = value
	s.rebalancer.mu.Unlock()
	rs, concerned := s.host.Global, s.profiles()
	if name != "" {
		prof := s.profile(name)
		if prof == nil {
			return
		}
		rs, concerned = prof.restrictions, []*Profile{prof}
	}
	before := make([][]admin.Ban, len(concerned))
	for i, prof := range concerned {
		before[i] = prof.restrictions.Bans()
	}
	if err := rs.Update(value); err != nil {
		s.warn(err)
		return
	}
	for i, prof := range concerned {
		prof.sendRestrictions()
		for _, in := range prof.restrictions.BansSince(before[i]) {
			prof.sendToLocalShards(in)
		}
	}
}

// delayNotesUntilUp pauses the applying of messages after a handoff until the inherited shards
// are up, at most for patience.
func (s *Server) delayNotesUntilUp(ctx context.Context, patience time.Duration) {
	if !s.Inherited() {
		return
	}
	s.receivedNotes.SetPaused(true)
	s.runBackground("messages from before the handoff", func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for _, sh := range s.shards() {
			if sh.isRemote() {
				continue
			}
			select {
			case <-sh.runtime.Up():
			case <-ctx.Done():
			}
		}
		s.receivedNotes.SetPaused(false)
	})
}

// handOverMessages flushes the messages before an exec. It returns the version of the last batch
// that was applied, and the state of the messages for the next process.
func (s *Server) handOverMessages() (lastVersion int64, state []byte) {
	if peers := s.rebalancer.peers; peers != nil {
		peers.FlushWithin(context.Background(), cluster.HandoffFlushTimeout)
		received := map[string][]profile.StoreEvent{}
		for _, db := range s.stores.all() {
			received[db.database] = db.Registry.RemoteEvents()
		}
		state = peers.HandOver(received)
	}
	return s.receivedNotes.LastApplied(), state
}

// inheritOutbox restores the messages from the handoff's inheritance, before the databases are
// open.
func (s *Server) inheritOutbox() {
	b, err := s.o.Handoff.Inheritance.PeerState()
	if err == nil && b != nil {
		s.stores.inherited, err = s.rebalancer.peers.Inherit(b)
	}
	if err != nil {
		s.log.Error("messages to other machines, and from them, were lost in the handoff",
			"err", err)
	}
}

// answerBoard answers a cluster.BoardQuestion of another node. If the board is not found, it is an
// error that one of the shards is not on this node, because the board may be there.
func (s *Server) answerBoard(ctx context.Context, question []byte) ([]byte, error) {
	var q cluster.BoardQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	prof := s.profile(q.Profile)
	if prof == nil {
		return nil, fmt.Errorf("there is no profile %s here", q.Profile)
	}
	var absent error
	for _, shard := range q.Shards {
		sh := prof.shardOf(shard)
		if sh == nil {
			return nil, fmt.Errorf("there is no shard %d of profile %s", shard, q.Profile)
		}
		told, err := sh.runtime.AskBoard(ctx, q.Ask)
		if told != nil {
			return json.Marshal(told)
		}
		if err != nil {
			absent = fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	if absent != nil {
		return nil, absent
	}
	return json.Marshal(nil)
}

// ShowViews passes changed boards of another node to the shards that have watchers.
func (p *Profile) ShowViews(data []byte) {
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

// ResendViews publishes all boards of the profile on this node.
func (p *Profile) ResendViews() {
	for _, sh := range p.localShards() {
		sh.runtime.ResendViews()
	}
}

// HasShard reports whether the profile's shard in a partition is on this node.
func (p *Profile) HasShard(part int) bool {
	sh := p.shardOf(part)
	return sh != nil && !sh.isRemote()
}
