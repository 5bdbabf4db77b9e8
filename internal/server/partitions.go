package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
)

// A journal in PostgreSQL has a partition for each shard: partition k has shard k of every profile.
// Each partition is held by one node of the cluster. With several, all nodes serve players; with one,
// the others are standbys. Logs, labels and options call a partition a part.
//
//	          heartbeat: live nodes, holders
//	PostgreSQL ─────────────▶ rebalanceLoop ──┬─ Claim: claim, replay, run the loops
//	                                          ├─ Release: end the loops, drain, release to another
//	                                          └─ Drop: end the loops of a partition that was lost
//
// What is done after a heartbeat is decided by cluster.Decide. A claim and a release hold
// running.changeMu for reading from the decision on, so that no reload or handoff begins before the
// partition is served or released.

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

// isPartitioned reports whether the journal is in PostgreSQL, where other nodes may hold its partitions.
func (s *Server) isPartitioned() bool { return s.o.Storage == nil && usesSharedJournal(s.o.Config) }

// preparePartitions prepares the state of a node with distributed partitions.
func (s *Server) preparePartitions() {
	n := s.partitionCount()
	s.rebalancer = rebalancer{
		peers: cluster.NewPeers(s.clusterOptions()), restrictions: map[string]string{},
		partitions: make([]*partition, n), busy: make([]bool, n), retryAt: make([]time.Duration, n),
		tasks: make(chan func(), 2*n), ended: make(chan struct{}),
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
	s.receivedNotes.StartAfter(s.o.Handoff.Inheritance.Note.LastVersion)
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
	return s.inheritRestrictions()
}

// inheritRestrictions reads the host's restrictions, which hold from the first packet on.
func (s *Server) inheritRestrictions() error {
	ctx, cancel := context.WithTimeout(context.Background(), inheritTimeout)
	defer cancel()
	notes, err := s.sharedJournal.log.Notes(ctx, s.sharedJournal.name)
	for name, text := range notes {
		if profile, ok := strings.CutPrefix(name, restrictionsPrefix); ok {
			s.rebalancer.restrictions[profile] = text
		}
	}
	return err
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
	if shard >= len(s.rebalancer.partitions) {
		return nil // of a profile that was removed
	}
	return s.rebalancer.partitions[shard]
}

func (s *Server) setPartition(index int, p *partition) {
	s.rebalancer.mu.Lock()
	defer s.rebalancer.mu.Unlock()
	s.rebalancer.partitions[index] = p
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

// isLost reports whether another node has claimed the partition.
func (p *partition) isLost() bool {
	select {
	case <-p.deposed:
		return true
	default:
		return p.runner.State() == runner.Failed && p.deposedBy() != nil
	}
}

// A partition that was claimed and could not be opened, because of the data directory for example, is
// tried again after claimRetry, and later if another node may be able to open it.
const (
	claimRetry             = 300 * time.Millisecond
	claimRetryBehindOthers = 10 * time.Second
)

// claimPartition claims a partition and runs its loops. It returns false if the partition was claimed,
// or may have been, and could not be opened.
func (s *Server) claimPartition(ctx context.Context, index int) bool {
	p := s.newPartition(index)
	if _, err := p.open(ctx, s.journalOptions(), false); err != nil {
		var held *pglog.HeldError
		switch {
		case errors.As(err, &held), ctx.Err() != nil:
			return true
		case s.partitionCount() == 1 && unreadable(err):
			s.giveUp(s.explainJournal(err))
		default:
			s.log.Warn("a part of the journal cannot be opened; to be tried again", "part", index, "err", err)
		}
		return false
	}
	s.partitionChanged()
	s.extendChange(changeTimeout)
	s.setPartition(index, p)
	if index == 0 {
		s.applyImported()
	}
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
		s.startHousekeeping(ctx, p)
	}
	return true
}

// startHousekeeping starts what belongs to the holder of partition 0. With one partition that is also the
// drain of removed profiles.
func (s *Server) startHousekeeping(ctx context.Context, p *partition) {
	s.rebalancer.stopJanitor = s.janitor(ctx, p.runner)
	if s.partitionCount() == 1 {
		s.drainLeftovers(ctx, p.runner)
	}
}

// giveUp ends Run with an error of the journal.
func (s *Server) giveUp(err error) {
	s.rebalancer.unusable.Store(&err)
	s.running.once.Do(func() { close(s.running.allFailed) })
}

// unreadable reports whether a journal cannot be opened until somebody mends it.
func unreadable(err error) bool {
	return errors.Is(err, runner.ErrSchema) || errors.Is(err, runner.ErrDamaged) || errors.Is(err, runner.ErrNoSchema)
}

// partitionDrainTimeout bounds the drain of a partition that moves. The next holder drains
// what remains.
const partitionDrainTimeout = 2 * time.Second

// releasePartition ends the loops of a partition, drains its journal to the database, and
// releases it to the node to. If that is "", another node has claimed it, and nothing is drained.
func (s *Server) releasePartition(p *partition, to string) {
	s.extendChange(partitionDrainTimeout + changeTimeout)
	// The drain ends at the withdrawal's deadline, if that is earlier.
	end := time.Now().Add(partitionDrainTimeout)
	if drain := s.rebalancer.nodeDrain.Load(); drain != nil {
		if last := s.started.Add(drain.deadline); last.Before(end) {
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
	if s.partitionCount() == 1 {
		s.endRemoved(ctx)
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

// isStandby reports whether this node has no partition.
func (s *Server) isStandby() bool { return s.isPartitioned() && len(s.localJournals()) == 0 }

// Stage returns in words whether this node serves players.
func (s *Server) Stage() string {
	if s.isStandby() {
		return s.waiting()
	}
	return "serves players"
}

// waiting returns what a node without a partition waits for.
func (s *Server) waiting() string {
	if holder := s.partitionOwners.Owner(0).Node; holder != "" && !s.journalAway() {
		return "standby of " + holder
	}
	if why := s.rebalancer.waitsFor.Load(); why != nil {
		return "waiting for " + *why
	}
	return "taking over"
}

// journalAway reports whether the journal's database did not answer the last heartbeat.
func (s *Server) journalAway() bool {
	seen, _ := s.sharedJournal.log.ClusterView(s.sharedJournal.name, s.partitionCount())
	return seen.Err != nil
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
