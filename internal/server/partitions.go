package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
)

// A journal in PostgreSQL is partitioned if a profile has several shards: partition k
// has shard k of every profile. Each partition is held by one node of the cluster, and
// all nodes serve players. Logs, labels and options call a partition a part.
//
//	          heartbeat: live nodes, holders
//	PostgreSQL ─────────────▶ rebalanceLoop ──┬─ adopt: claim, replay, run the loops
//	                                          ├─ move: end the loops, drain, release to another
//	                                          └─ drop: end the loops of a partition that was lost
//
// A node that is to stop moves all of its partitions (see cluster.NodeDrain).

// partitionCount returns the number of partitions of the journal: the largest number of shards
// of a profile.
func (s *Server) partitionCount() int {
	n := 1
	profiles, err := s.wantedProfiles(s.o.Config)
	for _, cfg := range profiles {
		n = max(n, cfg.Boards.Shards)
	}
	if err != nil {
		return 1 // openProfiles returns the error
	}
	return n
}

// isPartitioned reports whether the journal's partitions are distributed over several nodes.
func (s *Server) isPartitioned() bool {
	return s.o.Storage == nil && usesSharedJournal(s.o.Config) && s.partitionCount() > 1
}

// rebalancer is the state of a node with distributed partitions. Its goroutine is rebalanceLoop.
type rebalancer struct {
	peers       *cluster.Peers     // nil if the journal is not distributed
	ended       chan struct{}      // closed when rebalanceLoop has returned
	stop        context.CancelFunc // ends rebalanceLoop
	stopSending context.CancelFunc // ends the sending of messages
	// nodeDrain is set when the server is to stop; nil before.
	nodeDrain atomic.Pointer[cluster.NodeDrain]

	mu           sync.Mutex        // guards what follows
	partitions   []*partition      // by index; nil if another node has the partition
	restrictions map[string]string // notes with the host's restrictions, by profile

	// Only rebalanceLoop uses what follows, but for working.
	busy        []bool // by index: the partition is being adopted or left
	decider     *cluster.Rebalancer
	tasks       chan func() // functions for rebalanceLoop to run
	workers     sync.WaitGroup
	workerCount atomic.Int32 // number of partitions that are being adopted or left
	lastCleanup time.Time    // of the last forgetOldMessages that deleted notes
	stopJanitor func()       // stops the janitor; nil if partition 0 is on another node
}

// preparePartitions prepares the state of a node with distributed partitions.
func (s *Server) preparePartitions() {
	n := s.partitionCount()
	s.rebalancer = rebalancer{
		peers: cluster.NewPeers(s.clusterOptions()), restrictions: map[string]string{},
		partitions: make([]*partition, n), busy: make([]bool, n),
		decider: cluster.NewRebalancer(nodeName(s.o.Config), n), tasks: make(chan func(), n),
		ended: make(chan struct{}),
	}
	s.stores.peers = s.rebalancer.peers
	s.closers = append(s.closers, s.closePartitions)
}

// clusterOptions returns what package cluster needs to know of this node.
func (s *Server) clusterOptions() cluster.Options {
	k := &s.sharedJournal
	return cluster.Options{Node: nodeName(s.o.Config), Log: k.log, Journal: k.name, Started: s.started, Logger: s.log,
		Warn: s.warn}
}

// inheritPartitions claims the partitions that the process before the handoff held.
func (s *Server) inheritPartitions() error {
	if !s.Inherited() {
		return nil
	}
	s.receivedNotes.StartAfter(s.o.Handoff.Inheritance.Note.Heard)
	s.inheritOutbox()
	for k := range s.rebalancer.partitions {
		if !s.inheritsPartition(k) {
			continue
		}
		for began := time.Now(); s.rebalancer.partitions[k] == nil; {
			p := s.newPartition(k)
			_, err := p.open(context.Background(), s.journalOptions(), true)
			var held *pglog.HeldError
			switch {
			case err == nil:
				s.rebalancer.partitions[k] = p
			case errors.As(err, &held), time.Since(began) > inheritTimeout:
				return err
			default:
				time.Sleep(reopenPause)
			}
		}
	}
	return nil
}

// inheritsPartition reports whether a handoff has left the state of a shard of a partition.
func (s *Server) inheritsPartition(part int) bool {
	profiles, _ := s.wantedProfiles(s.o.Config)
	return slices.ContainsFunc(profiles, func(cfg *config.Profile) bool {
		return s.o.Handoff.Inheritance.States[store.ShardName(cfg.Name, part)] != ""
	})
}

// partitionOf returns the partition of a shard; nil if another node has it.
func (s *Server) partitionOf(shard int) *partition {
	if !s.isPartitioned() {
		return s.partition
	}
	s.rebalancer.mu.Lock()
	defer s.rebalancer.mu.Unlock()
	return s.rebalancer.partitions[shard]
}

func (s *Server) setPartition(index int, p *partition) {
	s.rebalancer.mu.Lock()
	defer s.rebalancer.mu.Unlock()
	s.rebalancer.partitions[index] = p
}

// deposed returns a channel that is closed when another node has claimed the journal.
// It is nil if the journal's partitions are distributed.
func (s *Server) deposed() <-chan struct{} {
	if s.partition == nil {
		return nil
	}
	return s.partition.deposed
}

// startRebalancer starts rebalanceLoop and the sending of messages.
func (s *Server) startRebalancer() {
	var ctx context.Context
	ctx, s.rebalancer.stop = context.WithCancel(context.Background())
	if p := s.partitionOf(0); p != nil { // inherited in a handoff
		s.rebalancer.stopJanitor = s.janitor(ctx, p.runner)
	}
	s.delayNotesUntilUp(ctx, inheritTimeout)
	sending, stopSending := context.WithCancel(context.Background())
	s.rebalancer.stopSending = stopSending
	s.runBackground("messages to other nodes", func() { s.rebalancer.peers.SendLoop(sending) })
	s.runBackground("the placement", func() {
		defer close(s.rebalancer.ended)
		s.rebalanceLoop(ctx)
	})
}

// stopRebalancer ends rebalanceLoop and the janitor. The partitions keep their holders.
func (s *Server) stopRebalancer() {
	if s.rebalancer.stop == nil {
		return
	}
	s.rebalancer.stop()
	<-s.rebalancer.ended
	if s.rebalancer.stopJanitor != nil {
		s.rebalancer.stopJanitor()
	}
}

// stopOutbox flushes the messages to other nodes and ends their sending. It is called
// after all loops have ended.
func (s *Server) stopOutbox() {
	if s.rebalancer.stopSending == nil {
		return
	}
	s.rebalancer.peers.FlushWithin(context.Background(), cluster.FlushTimeout)
	s.rebalancer.stopSending()
}

// closePartitions releases all partitions. One whose release fails, as without PostgreSQL, has
// everything that was acknowledged, and becomes free when its lease expires.
func (s *Server) closePartitions() error {
	for _, p := range s.rebalancer.partitions {
		if p == nil {
			continue
		}
		if err := p.runner.Close(); err != nil {
			s.log.Warn("a part of the journal was not given back; another machine has it when its lease is over",
				"part", p.index, "err", err)
		}
	}
	clear(s.rebalancer.partitions)
	return nil
}

// rebalanceLoop applies notes and adopts or leaves partitions after each heartbeat, until
// ctx ends.
func (s *Server) rebalanceLoop(ctx context.Context) {
	r := &s.rebalancer
	defer r.workers.Wait()
	for ctx.Err() == nil {
		seen, beaten := s.sharedJournal.log.ClusterView(s.sharedJournal.name, len(r.partitions))
		if s.applyNotes(); seen.Err == nil {
			leaving, moreGames := r.peers.ApplyReports(seen.Nodes)
			if moreGames {
				for _, prof := range s.profiles() {
					prof.gamesChanged.send()
				}
			}
			guard.Run("the placement", func() { s.rebalance(ctx, seen, leaving) }, s.reportPanic)
		} else if drain := r.nodeDrain.Load(); drain != nil {
			drain.Finish() // without the database no partition can move
		}
		s.publishOwners(seen)
		select {
		case <-beaten:
		case event := <-r.tasks:
			event()
		case <-ctx.Done():
		}
	}
}

// rebalance claims and releases partitions after a heartbeat. Leaving has the other nodes that
// withdraw.
func (s *Server) rebalance(ctx context.Context, seen pglog.ClusterView, leaving []string) {
	r := &s.rebalancer
	h := cluster.Heartbeat{Now: time.Since(s.started), Seen: seen, Leaving: leaving, Drain: r.nodeDrain.Load()}
	for k, busy := range r.busy {
		p := s.partitionOf(k)
		h.Local = append(h.Local,
			cluster.LocalPartition{Here: p != nil, Busy: busy, Lost: p != nil && !busy && p.isLost()})
	}
	for _, a := range r.decider.Decide(h) {
		switch {
		case a.Claim:
			s.claimPartition(ctx, a.Part)
			continue
		case a.To != "" && h.Drain != nil:
			s.log.Info("a part of the world moves: this machine stops", "part", a.Part, "to", a.To)
		case a.To != "":
			s.log.Info("a part of the world moves", "part", a.Part, "to", a.To)
		}
		s.releasePartition(s.partitionOf(a.Part), a.To)
	}
	if h.Drain == nil {
		s.forgetOldMessages(ctx)
	}
}

// forgetOldMessages deletes notes with messages older than cluster.MessageMaxAge, at most once per cluster.MessageMaxAge. Only the
// holder of partition 0 does.
func (s *Server) forgetOldMessages(ctx context.Context) {
	r := &s.rebalancer
	if s.partitionOf(0) == nil || time.Since(r.lastCleanup) < cluster.MessageMaxAge {
		return
	}
	r.lastCleanup = time.Now()
	r.workers.Go(func() {
		err := guard.Call("old messages of nodes", func() error {
			return s.sharedJournal.log.Forget(ctx, s.sharedJournal.name, cluster.MessagePrefix, cluster.MessageMaxAge)
		})
		if ctx.Err() == nil {
			s.warn(err)
		}
	})
}

// isLost reports whether another node has claimed the partition.
func (p *partition) isLost() bool {
	select {
	case <-p.deposed:
		return true
	default:
		return p.runner.State() == runner.Failed && p.deposedBy() != nil
	}
}

// runOnPartition runs do on a goroutine of its own. The partition is busy until do returns:
// rebalance neither claims nor releases it.
func (s *Server) runOnPartition(index int, what string, do func()) {
	r := &s.rebalancer
	r.busy[index] = true
	r.workerCount.Add(1)
	r.workers.Go(func() {
		guard.Run(what, do, s.reportPanic)
		r.workerCount.Add(-1)
		r.tasks <- func() { r.busy[index] = false }
	})
}

// claimPartition claims a partition and runs its loops.
func (s *Server) claimPartition(ctx context.Context, index int) {
	s.runOnPartition(index, "the claim of a part", func() {
		p := s.newPartition(index)
		if _, err := p.open(ctx, s.journalOptions(), false); err != nil {
			var held *pglog.HeldError
			if !errors.As(err, &held) && ctx.Err() == nil {
				s.log.Warn("a part of the journal cannot be opened; to be tried again", "part", index, "err", err)
			}
			return
		}
		s.partitionChanged()
		s.running.changeMu.Lock()
		defer s.endChange()
		s.extendChange(changeTimeout)
		s.setPartition(index, p)
		for _, prof := range s.profiles() {
			if sh := prof.shardOf(index); sh != nil {
				sh.remotePort.End()
				sh.runtime.Attach(p.journal())
				sh.arrive(p)
				sh.start()
			}
			if index == 0 {
				prof.setBots(true)
			}
		}
		if index == 0 {
			s.rebalancer.stopJanitor = s.janitor(ctx, p.runner)
		}
	})
}

// partitionDrainTimeout bounds the drain of a partition that moves. The next holder drains
// what remains.
const partitionDrainTimeout = 2 * time.Second

// releasePartition ends the loops of a partition, drains its journal to the database, and
// releases it to the node to. If that is "", another node has claimed it, and nothing is drained.
func (s *Server) releasePartition(p *partition, to string) {
	s.runOnPartition(p.index, "the end of a part", func() {
		s.running.changeMu.Lock()
		defer s.endChange()
		s.extendChange(partitionDrainTimeout + changeTimeout)
		// The drain ends at the withdrawal's deadline, if that is earlier.
		end := time.Now().Add(partitionDrainTimeout)
		if drain := s.rebalancer.nodeDrain.Load(); drain != nil {
			if last := s.started.Add(drain.Deadline); last.Before(end) {
				end = last
			}
		}
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		// End the janitor and the house bots, which belong to partition 0.
		if p.index == 0 {
			if s.rebalancer.stopJanitor != nil {
				s.rebalancer.stopJanitor()
				s.rebalancer.stopJanitor = nil
			}
			for _, prof := range s.profiles() {
				prof.setBots(false)
			}
		}
		// End the loops, and forward packets for their shards from now on.
		var ending sync.WaitGroup
		for _, prof := range s.profiles() {
			sh := prof.shardOf(p.index)
			if sh == nil {
				continue
			}
			ending.Go(func() {
				guard.Run("the end of a shard", func() {
					sh.stop()
					sh.partition.Store(nil)
					sh.runtime.Detach(ctx, s.runner, remoteText(to), to != "")
					sh.start()
				}, sh.reportPanic)
			})
		}
		ending.Wait()
		// Release the journal, reserved for the next holder.
		s.setPartition(p.index, nil)
		p.storage.SetSuccessor(to)
		if err := p.runner.Close(); err != nil {
			s.log.Warn("a part of the journal was not closed well", "part", p.index, "err", err)
		}
		s.partitionChanged()
	})
}

// partitionChanged makes this node and the others send their next heartbeat at once, after a
// partition got another holder.
func (s *Server) partitionChanged() {
	s.sharedJournal.log.Hasten(s.sharedJournal.name)
	if s.router != nil {
		s.router.NotifyChange()
	}
}

// shardOf returns the profile's shard in a partition; nil if it has none there.
func (p *Profile) shardOf(part int) *Shard {
	if part < 0 || part >= len(p.shards) {
		return nil
	}
	return p.shards[part]
}

// isRemote reports whether another node, or none, has the shard.
func (sh *Shard) isRemote() bool { return sh.partition.Load() == nil }

func remoteText(node string) string {
	if node == "" {
		return "waiting for a machine"
	}
	return "on machine " + node
}

// publishOwners publishes the holders of all partitions to s.partitionOwners, and to the loops of
// shards on other nodes.
func (s *Server) publishOwners(seen pglog.ClusterView) {
	list := make([]cluster.Location, len(s.rebalancer.partitions))
	for k := range list {
		l := &list[k]
		if l.Local = s.partitionOf(k) != nil; l.Local {
			l.Node = nodeName(s.o.Config)
		} else if k < len(seen.Parts) && !seen.Parts[k].Self { // one of this node is being adopted or left
			l.Node = seen.Parts[k].Holder
		}
	}
	s.partitionOwners.Set(list, seen.Nodes)
	for _, p := range s.profiles() {
		for i, sh := range p.shards {
			if sh.isRemote() && !s.rebalancer.busy[i] {
				sh.runtime.SetRemote(remoteText(list[i].Node))
			}
		}
	}
}

// checkStoresUnchanged refuses a reload that changes a profile's database in a cluster, whose
// other nodes use the old one.
func (s *Server) checkStoresUnchanged(wanted []*config.Profile) error {
	if !s.isPartitioned() {
		return nil
	}
	for _, cfg := range wanted {
		if p := s.profile(cfg.Name); p != nil && otherStore(s, p, cfg) {
			return fmt.Errorf("profile %s is to use another database: stop the server on all machines, and start it with that", cfg.Name)
		}
	}
	return nil
}

// checkPartitionCount refuses a reload that changes the number of partitions.
func (s *Server) checkPartitionCount(shards int) error {
	if !usesSharedJournal(s.o.Config) || s.o.Storage != nil || shards == s.partitionCount() {
		return nil
	}
	return fmt.Errorf("the profile with the most shards has %d instead of %d: that needs a restart of all machines",
		shards, s.partitionCount())
}

// partStatus returns the holders of all partitions.
func (s *Server) partStatus() []admin.PartStatus {
	list := []admin.PartStatus{}
	for _, l := range s.partitionOwners.Locations() {
		list = append(list, admin.PartStatus{Node: l.Node, Here: l.Local})
	}
	return list
}

// drainNode moves the partitions of this node to others, for at most patience.
func (s *Server) drainNode(patience time.Duration) {
	if s.rebalancer.stop == nil || patience <= 0 {
		return
	}
	s.stopServing()
	drain := &cluster.NodeDrain{Deadline: time.Since(s.started) + patience, Done: make(chan struct{})}
	s.rebalancer.nodeDrain.Store(drain)
	s.sharedJournal.log.Hasten(s.sharedJournal.name)
	select {
	case <-drain.Done:
	case <-s.rebalancer.ended:
	case <-time.After(patience):
		s.log.Warn("there was no time to leave all parts of the world to other machines; they claim what is left")
	}
}
