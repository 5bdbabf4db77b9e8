package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
)

// A journal in PostgreSQL has a partition for each shard: partition k has shard k of every profile.
// Each partition is held by one node of the cluster. With several, all nodes serve players; with one,
// the others are standbys. Logs, labels and options call a partition a part.
//
//	          heartbeat: live nodes, holders
//	PostgreSQL ─────────────▶ rebalanceLoop ──┬─ adopt: claim, replay, run the loops
//	                                          ├─ move: end the loops, drain, release to another
//	                                          └─ drop: end the loops of a partition that was lost
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

// rebalancer is the state of a node with distributed partitions. Its goroutine is rebalanceLoop.
type rebalancer struct {
	peers       *cluster.Peers            // nil if the journal is not distributed
	ended       chan struct{}             // closed when rebalanceLoop has returned
	stop        context.CancelFunc        // ends rebalanceLoop
	stopSending context.CancelFunc        // ends the sending of messages
	nodeDrain   atomic.Pointer[nodeDrain] // set when the server is to stop; nil before

	mu           sync.Mutex        // guards what follows
	partitions   []*partition      // by index; nil if another node has the partition
	restrictions map[string]string // notes with the host's restrictions, by profile

	// Only rebalanceLoop uses what follows, but for workerCount.
	busy        []bool          // by index: the partition is being adopted or left
	retryAt     []time.Duration // by index: when a claim may be tried again whose partition could not be opened
	history     cluster.History
	tasks       chan func() // functions for rebalanceLoop to run
	workers     sync.WaitGroup
	workerCount atomic.Int32 // number of partitions that are being adopted or left
	moving      atomic.Int32 // number of decisions that are being carried out
	lastCleanup time.Time    // of the last forgetOldMessages that deleted notes
	stopJanitor func()       // stops the janitor; nil if partition 0 is on another node
	said        string       // what this node waits for, as logged last
	asked       bool         // the journal's database has answered
	warned      time.Time    // when the host was told last to mend the journal's database

	waitsFor atomic.Pointer[string] // the first thing that cluster.Decide waits for; nil if it does not wait
	unusable atomic.Pointer[error]  // why this node can claim no partition ever; nil if it can
}

// nodeDrain is the state of a node that is to stop.
type nodeDrain struct {
	deadline time.Duration // since the start of this process
	done     chan struct{} // closed when cluster.Decide has said Drained
	finished bool          // done is closed; only rebalanceLoop uses it
}

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

// startRebalancer starts rebalanceLoop and the sending of messages.
func (s *Server) startRebalancer() {
	var ctx context.Context
	ctx, s.rebalancer.stop = context.WithCancel(context.Background())
	if p := s.partitionOf(0); p != nil { // inherited in a handoff
		s.startHousekeeping(ctx, p)
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
		s.applyNotes()
		var marks cluster.Marks
		if seen.Err == nil {
			var moreGames bool
			if marks, moreGames = r.peers.ApplyReports(seen.Nodes); moreGames {
				for _, prof := range s.profiles() {
					prof.gamesChanged.send()
				}
			}
		}
		guard.Run("the placement", func() { s.rebalance(ctx, seen, marks) }, s.reportPanic)
		s.publishOwners(seen)
		s.logWaiting(seen)
		select {
		case <-beaten:
		case event := <-r.tasks:
			event()
		case <-ctx.Done():
		}
	}
}

// rebalance carries out what cluster.Decide says after a heartbeat.
func (s *Server) rebalance(ctx context.Context, seen pglog.ClusterView, marks cluster.Marks) {
	r, now := &s.rebalancer, time.Since(s.started)
	places := make([]cluster.Place, len(r.busy))
	for k, busy := range r.busy {
		switch p := s.partitionOf(k); {
		case busy:
			places[k] = cluster.Moving
		case p != nil && p.isLost():
			places[k] = cluster.Lost
		case p != nil:
			places[k] = cluster.Held
		}
	}
	v, drain := cluster.NewView(nodeName(s.o.Config), seen, places, marks), r.nodeDrain.Load()
	if drain != nil {
		v.Drain = &cluster.Drain{Deadline: drain.deadline, Done: drain.finished}
	}
	for k := range v.Parts {
		v.Parts[k].Free = v.Parts[k].Free && now >= r.retryAt[k]
	}
	r.history.Complete(&v, now)
	m := s.beginMoves()
	if v.Changing = m == nil; !v.Changing {
		defer m.end()
	}
	var waits *string
	for _, a := range cluster.Decide(v, now) {
		switch a.Do {
		case cluster.Claim:
			alone := len(v.Nodes) == 1
			s.runOnPartition(a.Part, "the claim of a part", m, func() {
				if s.claimPartition(ctx, a.Part) {
					return
				}
				r.tasks <- func() {
					if r.retryAt[a.Part] = time.Since(s.started) + claimRetry; !alone {
						r.retryAt[a.Part] += claimRetryBehindOthers
					}
				}
			})
		case cluster.Release, cluster.Drop:
			if drain != nil {
				s.log.Info("a part of the world moves: this machine stops", "part", a.Part, "to", a.To)
			} else if a.Do == cluster.Release {
				s.log.Info("a part of the world moves", "part", a.Part, "to", a.To)
			}
			p := s.partitionOf(a.Part)
			r.history.Moved(now)
			s.runOnPartition(a.Part, "the end of a part", m, func() { s.releasePartition(p, a.To) })
		case cluster.Drained:
			drain.finished = true
			close(drain.done)
		case cluster.Wait:
			if waits == nil {
				waits = &a.Why
			}
		}
	}
	r.waitsFor.Store(waits)
	if drain == nil && seen.Err == nil {
		s.forgetOldMessages(ctx)
	}
}

// moves are the claims and releases of one decision. They hold running.changeMu for reading until the
// last one has ended, so that no reload or handoff begins.
type moves struct {
	s    *Server
	left atomic.Int32
}

// beginMoves returns nil if a reload or a handoff is under way.
func (s *Server) beginMoves() *moves {
	if !s.running.changeMu.TryRLock() {
		return nil
	}
	s.rebalancer.moving.Add(1)
	m := &moves{s: s}
	m.left.Store(1)
	return m
}

// end ends one of the moves, or the decision.
func (m *moves) end() {
	if m.left.Add(-1) > 0 {
		return
	}
	if m.s.rebalancer.moving.Add(-1) == 0 {
		m.s.running.changeDeadline.Store(nil)
	}
	m.s.running.changeMu.RUnlock()
}

// changing reports whether a reload or a handoff is under way.
func (s *Server) changing() bool {
	begun := s.running.changeMu.TryRLock()
	if begun {
		s.running.changeMu.RUnlock()
	}
	return !begun
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
// it is neither claimed nor released.
func (s *Server) runOnPartition(index int, what string, m *moves, do func()) {
	r := &s.rebalancer
	r.busy[index] = true
	r.workerCount.Add(1)
	m.left.Add(1)
	r.workers.Go(func() {
		defer m.end()
		guard.Run(what, do, s.reportPanic)
		r.workerCount.Add(-1)
		r.tasks <- func() { r.busy[index] = false }
	})
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

// partitionChanged makes this node and the others send their next heartbeat at once, after a
// partition got another holder.
func (s *Server) partitionChanged() {
	s.beatNow()
	if s.router != nil {
		s.router.NotifyChange()
	}
}

// beatNow makes the next heartbeat come at once, because what it says has changed.
func (s *Server) beatNow() {
	if s.sharedJournal.log != nil {
		s.sharedJournal.log.Hasten(s.sharedJournal.name)
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

// remindEvery is the interval of log messages about errors that only the host can end.
const remindEvery = time.Minute

// logWaiting logs what this node waits for without a partition, when that has changed. It ends the
// server if the journal's database cannot be used from the start.
func (s *Server) logWaiting(seen pglog.ClusterView) {
	r, text := &s.rebalancer, ""
	if s.isStandby() {
		text = s.waiting()
	}
	if text != r.said && text != "" {
		s.log.Info(text, "journal", s.sharedJournal.name)
	}
	r.said = text
	wrong := postgres.Unusable(seen.Err)
	if r.asked = r.asked || len(seen.Nodes) > 0; !r.asked && wrong != nil && !pglog.LacksTables(seen.Err) {
		s.giveUp(journalUnusable(wrong))
	} else if errors.Is(seen.Err, runner.ErrSchema) && s.isStandby() {
		s.giveUp(s.explainJournal(seen.Err))
	}
	if wrong != nil && !pglog.LacksTables(seen.Err) &&
		time.Since(r.warned) >= remindEvery {
		r.warned = time.Now()
		s.log.Error("the journal's database cannot be used until somebody mends it", "err", wrong.Err, "advice", wrong.Advice)
	}
}

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
		} else if k < len(seen.Parts) && !seen.Parts[k].Free { // it is free if its holder is dead, or this node
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
	drain := &nodeDrain{deadline: time.Since(s.started) + patience, done: make(chan struct{})}
	s.rebalancer.nodeDrain.Store(drain)
	s.beatNow()
	select {
	case <-drain.done:
	case <-s.rebalancer.ended:
	case <-time.After(patience):
		s.log.Warn("there was no time to leave all parts of the world to other machines; they claim what is left")
	}
}
