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

// A world whose journal is in PostgreSQL, and that has several shards, is placed: part k of
// the journal, which has shard k of every profile, is held by one of the machines, and all
// of them serve players.
//
//	          beat: who lives, who holds what
//	PostgreSQL ──────────────▶ keepPlaces ──┬─ adopt: claim, replay, run the loops
//	                                        ├─ move: end the loops, drain, release to another
//	                                        └─ drop: end the loops of a part that was lost
//
// A machine that is to stop moves all of its parts (see withdrawal).

// parts is how many parts the journal has.
func (s *Server) parts() int {
	n := 1
	profiles, err := s.wanted(s.o.Config)
	for _, cfg := range profiles {
		n = max(n, cfg.Boards.Shards)
	}
	if err != nil {
		return 1 // the start says why
	}
	return n
}

// placed reports whether the parts of the world come and go.
func (s *Server) placed() bool {
	return s.o.Storage == nil && clustered(s.o.Config) && s.parts() > 1
}

// placing is the parts of a placed world. Its goroutine is keepPlaces.
type placing struct {
	abroad *abroad // nil: it is not placed
	ended  chan struct{}
	stop   context.CancelFunc
	hush   context.CancelFunc // sends no more letters
	// withdrawal is set when the server is to stop; nil: it is not.
	withdrawal atomic.Pointer[withdrawal]

	mu       sync.Mutex // guards what follows
	parts    []*part    // those that are here; nil: it is not
	standing map[string]string

	// Of keepPlaces:
	busy    []bool          // somebody adopts or gives up the part
	orphans []time.Duration // since when nobody has it; negative: somebody has
	steady  placement.Steady
	events  chan func() // to be run by keepPlaces
	workers sync.WaitGroup
	working atomic.Int32 // how many there are
	tidied  time.Time
	janitor func() // nil: the first part is not here
}

// newWorld prepares a placed world.
func (s *Server) newWorld() {
	n := s.parts()
	s.placing = placing{
		abroad: &abroad{s: s, mail: newMail()}, standing: map[string]string{}, parts: make([]*part, n), busy: make([]bool, n),
		orphans: slices.Repeat([]time.Duration{-1}, n), events: make(chan func(), n), ended: make(chan struct{}),
	}
	s.stores.abroad = s.placing.abroad
	s.closers = append(s.closers, s.closeParts)
}

// inheritParts claims the parts again that the image before this one has handed over.
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

// inheritsPart reports whether there is the state of a shard of a part.
func (s *Server) inheritsPart(part int) bool {
	profiles, _ := s.wanted(s.o.Config)
	return slices.ContainsFunc(profiles, func(cfg *config.Profile) bool {
		return s.o.Succession.Inheritance.States[store.ShardName(cfg.Name, part)] != ""
	})
}

// partOf is the part that a shard is in; nil: it is on another machine.
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

// deposed is closed when another machine has the journal, if that is in one part.
func (s *Server) deposed() <-chan struct{} {
	if s.part == nil {
		return nil
	}
	return s.part.deposed
}

// startPlacing keeps the parts where they belong, until stopPlacing.
func (s *Server) startPlacing() {
	var ctx context.Context
	ctx, s.placing.stop = context.WithCancel(context.Background())
	if p := s.partOf(0); p != nil { // of the image before this one
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

// stopPlacing leaves the parts where they are.
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

// stopLetters sends what is still to be told to other machines, and ends that: nobody
// decides anything any more.
func (s *Server) stopLetters() {
	if s.placing.hush == nil {
		return
	}
	s.placing.abroad.flushFor(context.Background(), lettersTime)
	s.placing.hush()
}

// closeParts gives all parts back, for whoever comes first. One that is not given back, as
// right after a loss of PostgreSQL, has all that was acknowledged, and is free when its lease
// is over.
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

// keepPlaces looks after each beat where the parts are and where they belong, until ctx
// ends.
func (s *Server) keepPlaces(ctx context.Context) {
	w := &s.placing
	defer w.workers.Wait()
	for ctx.Err() == nil {
		seen, beaten := s.cluster.log.World(s.cluster.name, len(w.parts))
		if s.heed(); seen.Err == nil {
			leaving := w.abroad.hear(seen.Nodes)
			guard.Run("the placement", func() { s.look(ctx, seen, leaving) }, s.caught)
		} else if own := w.withdrawal.Load(); own != nil {
			own.end() // nobody could be given anything
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

// look decides what to do after a beat. Leaving are the other machines that withdraw.
func (s *Server) look(ctx context.Context, seen pglog.World, leaving []string) {
	w, self, now := &s.placing, nodeName(s.o.Config), time.Since(s.started)
	own := w.withdrawal.Load()
	if own != nil {
		leaving = append(leaving, self)
	}
	leaves := func(node string) bool { return slices.Contains(leaving, node) }
	var alive, stay []string
	joined := false // the machines reach each other
	for _, n := range seen.Nodes {
		if alive = append(alive, n.Name); !leaves(n.Name) {
			stay = append(stay, n.Name)
		}
		joined = joined || n.Address != ""
	}
	steady := w.steady.Look(now, alive)
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
		return // the next beat is heard
	}
	if own != nil {
		s.leaveNext(own, holders, stay, slices.DeleteFunc(steady, leaves), busy || slices.Contains(w.busy, true), joined)
		return
	}
	sharing := stay
	if !joined {
		sharing = []string{placement.Leader(holders, stay)}
	}
	for _, k := range placement.Claims(holders, sharing, orphaned, self) {
		busy = true
		s.adopt(ctx, k)
	}
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

// tidy forgets old letters, once for all machines.
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

// lost reports whether another machine has the part.
func (p *part) lost() bool {
	select {
	case <-p.deposed:
		return true
	default:
		return p.runner.State() == runner.Failed && p.deposedBy() != nil
	}
}

// work does something with a part beside keepPlaces, which does nothing with it meanwhile.
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

// adopt claims a part and runs its loops.
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

// leaveTimeOfPart is how long the database may take for what a part has that moves: the
// machine that gets it brings the rest there.
const leaveTimeOfPart = 2 * time.Second

// leavePart ends the loops of a part, which another machine is to have next, or has
// already. With drain the database gets what the part has before.
func (s *Server) leavePart(p *part, to string, drain bool) {
	s.work(p.index, "the end of a part", func() {
		s.house.changing.Lock()
		defer s.changed()
		s.expect(leaveTimeOfPart + changeTime)
		end := time.Now().Add(leaveTimeOfPart)
		if w := s.placing.withdrawal.Load(); w != nil && w.until.Before(end) {
			end = w.until
		}
		ctx, cancel := context.WithDeadline(context.Background(), end)
		defer cancel()
		if p.index == 0 {
			if s.placing.janitor != nil {
				s.placing.janitor()
				s.placing.janitor = nil
			}
			for _, k := range s.supervisors() {
				k.seatBots(false)
			}
		}
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
		s.setPart(p.index, nil)
		p.storage.SetHeir(to)
		if err := p.runner.Close(); err != nil {
			s.log.Warn("a part of the journal was not closed well", "part", p.index, "err", err)
		}
		s.partChanged()
	})
}

// partChanged lets this machine and the others look who has which part before their next
// beat.
func (s *Server) partChanged() {
	s.cluster.log.Hasten(s.cluster.name)
	if s.junction != nil {
		s.junction.tell()
	}
}

// shardOf is the shard of a profile that is in a part; nil: it has fewer.
func (k *supervisor) shardOf(part int) *supervisor {
	if loops := k.loops(); part < len(loops) {
		return loops[part]
	}
	return nil
}

// isAway reports whether the shard is on another machine.
func (k *supervisor) isAway() bool { return k.part.Load() == nil }

func elsewhereText(node string) string {
	if node == "" {
		return "waiting for a machine"
	}
	return "on machine " + node
}

// tellPlaces makes known where the parts are.
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
		} else if k < len(seen.Parts) && !seen.Parts[k].Self { // else it comes, or has just gone
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

// sameStoresPlaced refuses other databases where other machines use those that there are.
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

// otherParts refuses a configuration with another number of parts than the world has.
func (s *Server) otherParts(shards int) error {
	if !clustered(s.o.Config) || s.o.Storage != nil || shards == s.parts() {
		return nil
	}
	return fmt.Errorf("the profile with the most shards has %d instead of %d: that needs a restart of all machines", shards, s.parts())
}
