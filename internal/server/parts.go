package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/placement"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
)

// A journal in PostgreSQL is partitioned if a profile has several shards: partition k
// has shard k of every profile. Each partition is held by one node of the cluster, and
// all nodes serve players. The code calls this placed, and a partition part.
//
//	          heartbeat: live nodes, holders
//	PostgreSQL ─────────────▶ keepPlaces ──┬─ adopt: claim, replay, run the loops
//	                                       ├─ move: end the loops, drain, release to another
//	                                       └─ drop: end the loops of a partition that was lost
//
// A node that is to stop moves all of its partitions (see withdrawal).

// parts returns the number of partitions of the journal: the largest number of shards
// of a profile.
func (s *Server) parts() int {
	n := 1
	profiles, err := s.wanted(s.o.Config)
	for _, cfg := range profiles {
		n = max(n, cfg.Boards.Shards)
	}
	if err != nil {
		return 1 // openProfiles returns the error
	}
	return n
}

// placed reports whether the journal's partitions are distributed over several nodes.
func (s *Server) placed() bool {
	return s.o.Storage == nil && clustered(s.o.Config) && s.parts() > 1
}

// placing is the state of a node with distributed partitions. Its goroutine is keepPlaces.
type placing struct {
	abroad *abroad            // nil if the journal is not distributed
	ended  chan struct{}      // closed when keepPlaces has returned
	stop   context.CancelFunc // ends keepPlaces
	hush   context.CancelFunc // ends the sending of letters
	// withdrawal is set when the server is to stop; nil before.
	withdrawal atomic.Pointer[withdrawal]

	mu       sync.Mutex        // guards what follows
	parts    []*part           // by index; nil if another node has the partition
	standing map[string]string // notes with the host's restrictions, by profile

	// Only keepPlaces uses what follows, but for working.
	busy    []bool          // by index: the partition is being adopted or left
	orphans []time.Duration // by index: since when it has no holder; negative if it has one
	steady  placement.Steady
	events  chan func() // functions for keepPlaces to run
	workers sync.WaitGroup
	working atomic.Int32 // number of partitions that are being adopted or left
	tidied  time.Time    // of the last call of tidy that deleted notes
	janitor func()       // stops the janitor; nil if partition 0 is on another node
}

// newWorld prepares the state of a node with distributed partitions.
func (s *Server) newWorld() {
	n := s.parts()
	s.placing = placing{
		abroad: &abroad{s: s, mail: newMail()}, standing: map[string]string{}, parts: make([]*part, n), busy: make([]bool, n),
		orphans: slices.Repeat([]time.Duration{-1}, n), events: make(chan func(), n), ended: make(chan struct{}),
	}
	s.stores.abroad = s.placing.abroad
	s.closers = append(s.closers, s.closeParts)
}

// inheritParts claims the partitions that the process before the handoff held.
func (s *Server) inheritParts() error {
	if !s.Inherited() {
		return nil
	}
	s.noted.heeded = s.o.Succession.Inheritance.Note.Heard
	s.inheritMail()
	for k := range s.placing.parts {
		if !s.inheritsPart(k) {
			continue
		}
		for began := time.Now(); s.placing.parts[k] == nil; {
			p := s.newPart(k)
			_, err := p.open(context.Background(), s.journalOptions(), true)
			var held *pglog.HeldError
			switch {
			case err == nil:
				s.placing.parts[k] = p
			case errors.As(err, &held), time.Since(began) > inheritTime:
				return err
			default:
				time.Sleep(reopenPause)
			}
		}
	}
	return nil
}

// inheritsPart reports whether a handoff has left the state of a shard of a partition.
func (s *Server) inheritsPart(part int) bool {
	profiles, _ := s.wanted(s.o.Config)
	return slices.ContainsFunc(profiles, func(cfg *config.Profile) bool {
		return s.o.Succession.Inheritance.States[store.ShardName(cfg.Name, part)] != ""
	})
}

// partOf returns the partition of a shard; nil if another node has it.
func (s *Server) partOf(shard int) *part {
	if !s.placed() {
		return s.part
	}
	s.placing.mu.Lock()
	defer s.placing.mu.Unlock()
	return s.placing.parts[shard]
}

func (s *Server) setPart(index int, p *part) {
	s.placing.mu.Lock()
	defer s.placing.mu.Unlock()
	s.placing.parts[index] = p
}

// deposed returns a channel that is closed when another node has claimed the journal.
// It is nil if the journal's partitions are distributed.
func (s *Server) deposed() <-chan struct{} {
	if s.part == nil {
		return nil
	}
	return s.part.deposed
}

// startPlacing starts keepPlaces and the sending of letters.
func (s *Server) startPlacing() {
	var ctx context.Context
	ctx, s.placing.stop = context.WithCancel(context.Background())
	if p := s.partOf(0); p != nil { // inherited in a handoff
		s.placing.janitor = s.janitor(ctx, p.runner)
	}
	s.inheritLetters(ctx, inheritTime)
	posting, hush := context.WithCancel(context.Background())
	s.placing.hush = hush
	s.help("letters to other machines", func() { s.placing.abroad.post(posting) })
	s.help("the placement", func() {
		defer close(s.placing.ended)
		s.keepPlaces(ctx)
	})
}

// stopPlacing ends keepPlaces and the janitor. The partitions keep their holders.
func (s *Server) stopPlacing() {
	if s.placing.stop == nil {
		return
	}
	s.placing.stop()
	<-s.placing.ended
	if s.placing.janitor != nil {
		s.placing.janitor()
	}
}

// stopLetters flushes the letters to other nodes and ends their sending. It is called
// after all loops have ended.
func (s *Server) stopLetters() {
	if s.placing.hush == nil {
		return
	}
	s.placing.abroad.flushFor(context.Background(), lettersTime)
	s.placing.hush()
}

// closeParts releases all partitions. One whose release fails, as without PostgreSQL, has
// everything that was acknowledged, and becomes free when its lease expires.
func (s *Server) closeParts() error {
	for _, p := range s.placing.parts {
		if p == nil {
			continue
		}
		if err := p.runner.Close(); err != nil {
			s.log.Warn("a part of the journal was not given back; another machine has it when its lease is over", "part", p.index, "err", err)
		}
	}
	clear(s.placing.parts)
	return nil
}

// keepPlaces applies notes and adopts or leaves partitions after each heartbeat, until
// ctx ends.
func (s *Server) keepPlaces(ctx context.Context) {
	w := &s.placing
	defer w.workers.Wait()
	for ctx.Err() == nil {
		seen, beaten := s.cluster.log.World(s.cluster.name, len(w.parts))
		if s.heed(); seen.Err == nil {
			leaving := w.abroad.hear(seen.Nodes)
			guard.Run("the placement", func() { s.look(ctx, seen, leaving) }, s.caught)
		} else if own := w.withdrawal.Load(); own != nil {
			own.end() // without the database no partition can move
		}
		s.tellPlaces(seen)
		select {
		case <-beaten:
		case event := <-w.events:
			event()
		case <-ctx.Done():
		}
	}
}

// look decides after a heartbeat which partitions this node claims or leaves. Leaving
// has the other nodes that withdraw.
func (s *Server) look(ctx context.Context, seen pglog.World, leaving []string) {
	w, self, now := &s.placing, nodeName(s.o.Config), time.Since(s.started)
	own := w.withdrawal.Load()
	if own != nil {
		leaving = append(leaving, self)
	}
	leaves := func(node string) bool { return slices.Contains(leaving, node) }
	// Which nodes live, which of them stay, and whether any has a mesh address.
	var alive, stay []string
	joined := false
	for _, n := range seen.Nodes {
		if alive = append(alive, n.Name); !leaves(n.Name) {
			stay = append(stay, n.Name)
		}
		joined = joined || n.Address != ""
	}
	steady := w.steady.Look(now, alive)
	// Who holds each partition. A free one that is reserved for this node is adopted, and
	// one that another node has claimed is dropped.
	holders, orphaned := make([]string, len(w.parts)), slices.Repeat([]time.Duration{-1}, len(w.parts))
	busy := false
	for k, sight := range seen.Parts {
		busy = busy || w.busy[k]
		here := s.partOf(k)
		switch {
		case here != nil || w.busy[k]:
			holders[k] = self
		case !sight.Free && sight.Heir == "":
			holders[k] = sight.Holder
		case sight.Free:
			if w.orphans[k] < 0 {
				w.orphans[k] = now
			}
			if orphaned[k] = now - w.orphans[k]; (sight.Self || sight.Heir == self) && own.takes(sight) {
				s.adopt(ctx, k)
				orphaned[k], holders[k] = -1, self
			}
		}
		if orphaned[k] < 0 {
			w.orphans[k] = -1
		}
		if here != nil && !w.busy[k] && here.lost() {
			busy = true
			s.leavePart(here, "", false)
		}
	}
	if !slices.Contains(alive, self) {
		return // the own heartbeat was late
	}
	// A node that withdraws leaves its next partition, and claims none.
	if own != nil {
		s.leaveNext(own, holders, stay, slices.DeleteFunc(steady, leaves), busy || slices.Contains(w.busy, true), joined)
		return
	}
	// Free partitions are shared by the nodes that stay. Without a mesh one node has all.
	sharing := stay
	if !joined {
		sharing = []string{placement.Leader(holders, stay)}
	}
	for _, k := range placement.Claims(holders, sharing, orphaned, self) {
		busy = true
		s.adopt(ctx, k)
	}
	// At most one partition moves at a time, and none while a node withdraws.
	part, to, ok := placement.Next(holders, alive, steady)
	if !joined {
		part, to, ok = placement.Gather(holders, alive)
	}
	if ok && !busy && len(leaving) == 0 && holders[part] == self && s.partOf(part) != nil {
		s.log.Info("a part of the world moves", "part", part, "to", to)
		s.leavePart(s.partOf(part), to, true)
	}
	s.tidy(ctx)
}

// tidy deletes notes with letters older than newsAge, at most once per newsAge. Only the
// holder of partition 0 does.
func (s *Server) tidy(ctx context.Context) {
	w := &s.placing
	if s.partOf(0) == nil || time.Since(w.tidied) < newsAge {
		return
	}
	w.tidied = time.Now()
	w.workers.Go(func() {
		err := guard.Call("old letters", func() error { return s.cluster.log.Forget(ctx, s.cluster.name, newsPrefix, newsAge) })
		if ctx.Err() == nil {
			s.warn(err)
		}
	})
}

// lost reports whether another node has claimed the partition.
func (p *part) lost() bool {
	select {
	case <-p.deposed:
		return true
	default:
		return p.runner.State() == runner.Failed && p.deposedBy() != nil
	}
}

// work runs do on a goroutine of its own. The partition is busy until do returns: look
// neither adopts nor leaves it.
func (s *Server) work(index int, what string, do func()) {
	w := &s.placing
	w.busy[index] = true
	w.working.Add(1)
	w.workers.Go(func() {
		guard.Run(what, do, s.caught)
		w.working.Add(-1)
		w.events <- func() { w.busy[index] = false }
	})
}

// adopt claims a partition and runs its loops.
func (s *Server) adopt(ctx context.Context, index int) {
	s.work(index, "the claim of a part", func() {
		p := s.newPart(index)
		if _, err := p.open(ctx, s.journalOptions(), false); err != nil {
			var held *pglog.HeldError
			if !errors.As(err, &held) && ctx.Err() == nil {
				s.log.Warn("a part of the journal cannot be opened; to be tried again", "part", index, "err", err)
			}
			return
		}
		s.partChanged()
		s.house.changing.Lock()
		defer s.changed()
		s.expect(changeTime)
		s.setPart(index, p)
		for _, k := range s.supervisors() {
			if l := k.shardOf(index); l != nil {
				l.absent.end()
				l.Arrive(p.journal())
				k.take(index, p)
				l.begin()
			}
			if index == 0 {
				k.seatBots(true)
			}
		}
		if index == 0 {
			s.placing.janitor = s.janitor(ctx, p.runner)
		}
	})
}

// leaveTimeOfPart bounds the drain of a partition that moves. The next holder drains
// what remains.
const leaveTimeOfPart = 2 * time.Second

// leavePart ends the loops of a partition and releases it to the node to; "" if another
// node has claimed it. With drain the journal is first drained to the database.
func (s *Server) leavePart(p *part, to string, drain bool) {
	s.work(p.index, "the end of a part", func() {
		s.house.changing.Lock()
		defer s.changed()
		s.expect(leaveTimeOfPart + changeTime)
		// The drain ends at the withdrawal's deadline, if that is earlier.
		end := time.Now().Add(leaveTimeOfPart)
		if w := s.placing.withdrawal.Load(); w != nil && w.until.Before(end) {
			end = w.until
		}
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		// End the janitor and the house bots, which belong to partition 0.
		if p.index == 0 {
			if s.placing.janitor != nil {
				s.placing.janitor()
				s.placing.janitor = nil
			}
			for _, k := range s.supervisors() {
				k.seatBots(false)
			}
		}
		// End the loops, and forward packets for their shards from now on.
		var ending sync.WaitGroup
		for _, k := range s.supervisors() {
			l := k.shardOf(p.index)
			if l == nil {
				continue
			}
			ending.Go(func() {
				guard.Run("the end of a shard", func() {
					l.end()
					l.part.Store(nil)
					l.Leave(ctx, s.runner, elsewhereText(to), drain)
					l.begin()
				}, l.caught)
			})
		}
		ending.Wait()
		// Release the journal, reserved for the next holder.
		s.setPart(p.index, nil)
		p.storage.SetHeir(to)
		if err := p.runner.Close(); err != nil {
			s.log.Warn("a part of the journal was not closed well", "part", p.index, "err", err)
		}
		s.partChanged()
	})
}

// partChanged makes this node and the others send their next heartbeat at once, after a
// partition got another holder.
func (s *Server) partChanged() {
	s.cluster.log.Hasten(s.cluster.name)
	if s.junction != nil {
		s.junction.tell()
	}
}

// shardOf returns the profile's shard in a partition; nil if the profile has fewer shards.
func (k *supervisor) shardOf(part int) *supervisor {
	if loops := k.loops(); part < len(loops) {
		return loops[part]
	}
	return nil
}

// isAway reports whether another node, or none, has the shard.
func (k *supervisor) isAway() bool { return k.part.Load() == nil }

func elsewhereText(node string) string {
	if node == "" {
		return "waiting for a machine"
	}
	return "on machine " + node
}

// tellPlaces publishes the holders of all partitions to s.places, and to the loops of
// shards on other nodes.
func (s *Server) tellPlaces(seen pglog.World) {
	at := map[string]string{}
	for _, n := range seen.Nodes {
		at[n.Name] = n.Address
	}
	list := make([]location, len(s.placing.parts))
	for k := range list {
		l := &list[k]
		if l.here = s.partOf(k) != nil; l.here {
			l.node = nodeName(s.o.Config)
		} else if k < len(seen.Parts) && !seen.Parts[k].Self { // one of this node is being adopted or left
			l.node = seen.Parts[k].Holder
		}
		l.address = at[l.node]
	}
	s.places.set(list, at)
	for _, k := range s.supervisors() {
		for i, l := range k.loops() {
			if l.isAway() && !s.placing.busy[i] {
				l.Absent(elsewhereText(list[i].node))
			}
		}
	}
}

// sameStoresPlaced refuses a reload that changes a profile's database in a cluster, whose
// other nodes use the old one.
func (s *Server) sameStoresPlaced(wanted []*config.Profile) error {
	if !s.placed() {
		return nil
	}
	for _, cfg := range wanted {
		if k := s.supervisor(cfg.Name); k != nil && otherStore(s, k, cfg) {
			return fmt.Errorf("profile %s is to use another database: stop the server on all machines, and start it with that", cfg.Name)
		}
	}
	return nil
}

// otherParts refuses a reload that changes the number of partitions.
func (s *Server) otherParts(shards int) error {
	if !clustered(s.o.Config) || s.o.Storage != nil || shards == s.parts() {
		return nil
	}
	return fmt.Errorf("the profile with the most shards has %d instead of %d: that needs a restart of all machines", shards, s.parts())
}
