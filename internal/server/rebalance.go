package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/cluster"
	"wamble/internal/guard"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
)

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

	// Only rebalanceLoop uses what follows.
	busy        []bool          // by index: the partition is being claimed or released
	retryAt     []time.Duration // by index: when a claim may be tried again whose partition could not be opened
	history     cluster.History
	lastCleanup time.Time // of the last forgetOldMessages that deleted notes
	said        string    // what this node waits for, as logged last
	asked       bool      // the journal's database has answered
	warned      time.Time // when the host was told last to mend the journal's database

	tasks       chan func() // functions for rebalanceLoop to run
	workers     sync.WaitGroup
	workerCount atomic.Int32 // number of partitions that are being claimed or released
	moving      atomic.Int32 // number of decisions that are being carried out
	stopJanitor func()       // stops the janitor; nil if partition 0 is on another node; its claim or release sets it

	waitsFor atomic.Pointer[string] // the first thing that cluster.Decide waits for; nil if it does not wait
	unusable atomic.Pointer[error]  // why this node can claim no partition ever; nil if it can
}

// nodeDrain is the state of a node that is to stop.
type nodeDrain struct {
	deadline time.Duration // since the start of this process
	done     chan struct{} // closed when cluster.Decide has said Drained
	finished bool          // done is closed; only rebalanceLoop uses it
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

// rebalanceLoop applies notes and claims or releases partitions after each heartbeat, until
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
			switch {
			case a.Do == cluster.Drop:
			case drain != nil:
				s.log.Info("a part of the world moves: this machine stops", "part", a.Part, "to", a.To)
			default:
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

// forgetOldMessages deletes notes with messages older than cluster.MessageMaxAge, at most once in that time. Only
// the holder of partition 0 does.
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
