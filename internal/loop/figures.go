package loop

import (
	"cmp"
	"context"
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
)

// Figures is everything that metrics and status show of a runtime, taken at one moment.
type Figures struct {
	Up        bool
	Why       string
	Stats     profile.Stats
	Gauges    profile.Gauges
	Link      link.Stats
	Boards    [wamble.Archived]int // by status
	ToDurable Histogram
	ToSent    Histogram
	Groups    Histogram
	UDP       transport.UDPStats
	Ages      ByClass[Histogram] // of the datagrams that were ordered, when a step got them
	Shed      ByClass[uint64]    // datagrams that were dropped instead
	Streams   transport.GatewayStats
	Runner    runner.Stats
	Health    board.Health // at most healthTime old
	Queue     runner.InboxStats
	Store     StoreState
	Panics    uint64 // caught so far
	Refused   uint64 // packets in quarantine

	CertificateEnds time.Time // zero without TLS
}

// ByClass has a value for each class of datagrams: see link.Class.
type ByClass[T any] [link.Classes]T

// ClassNames are the names of the classes.
var ClassNames = ByClass[string]{link.ClassPlayer.String(), link.ClassProven.String(), link.ClassRest.String()}

// StoreState is the state of the store as the runtime sees it.
type StoreState struct {
	Away         bool    // it cannot be read
	Refuses      bool    // it cannot be written
	Backpressure float64 // recent share of its time for which the drain has braked the loop
	Trouble      string  // needs the host; with advice
}

// Merge combines the states of two shards.
func (s StoreState) Merge(more StoreState) StoreState {
	return StoreState{
		s.Away || more.Away, s.Refuses || more.Refuses, max(s.Backpressure, more.Backpressure),
		cmp.Or(s.Trouble, more.Trouble),
	}
}

// healthTime is the shortest time between two scans of all boards.
const healthTime = 10 * time.Second

// figuresTimeout bounds Look.
const figuresTimeout = 2 * time.Second

// Figures takes the figures. The loop's own are zero before the loop runs.
func (rt *Runtime) Figures(ctx context.Context) Figures {
	ctx, cancel := context.WithTimeout(ctx, figuresTimeout)
	defer cancel()
	s := Figures{
		ToDurable: newHistogram(LatencyBounds), ToSent: newHistogram(LatencyBounds), Groups: newHistogram(groupBounds),
		Ages: newAges(),
		UDP:  rt.port.Load().UDP().Stats(), Streams: rt.port.Load().Stats(), Runner: rt.journal().Runner.Stats(),
	}
	if c := rt.port.Load().Certificate(); c != nil {
		s.CertificateEnds = c.Leaf.NotAfter
	}
	s.Up, s.Why = rt.Stage()
	s.Store = rt.StoreState()
	s.Panics, s.Refused = rt.panics.Load(), rt.quarantine.refused.Load()
	s.Queue = rt.Queue(&s.Runner)
	if l := rt.loop.Load(); l != nil {
		var loop Figures
		if l.runOnLoop(ctx, func() { loop = l.figures() }) {
			s.Ages, s.Shed = loop.Ages, loop.Shed
			s.Stats, s.Gauges, s.Link, s.Boards, s.Health = loop.Stats, loop.Gauges, loop.Link, loop.Boards, loop.Health
			s.ToDurable, s.ToSent, s.Groups = loop.ToDurable, loop.ToSent, loop.Groups
		}
	}
	return s
}

// StoreState returns the state of the store at present.
func (rt *Runtime) StoreState() StoreState {
	return StoreState{rt.watch.away.Load(), rt.watch.refuses.Load(), rt.pace.backpressure.share(), rt.watch.trouble()}
}

// Queue returns the part of the journal that the store does not have yet.
func (rt *Runtime) Queue(s *runner.Stats) runner.InboxStats {
	if d := rt.drain.Load(); d != nil {
		for _, in := range s.Inboxes {
			if in.Worker == uint64(d.Worker()) {
				return in
			}
		}
	}
	return runner.InboxStats{}
}

// figures returns the loop's own figures. It runs on the loop's goroutine.
func (l *loop) figures() Figures {
	p := l.instance.profile
	if now := time.Now(); now.Sub(l.healthAt) > healthTime {
		l.health, l.healthAt = p.Health(now), now
	}
	return Figures{
		Health: l.health, Ages: l.intake.figures(), Shed: ByClass[uint64](l.intake.queue.Shed()),
		Stats: p.Stats(), Gauges: p.Gauges(), Link: p.LinkStats(), Boards: p.Census(),
		ToDurable: l.times.toDurable.clone(), ToSent: l.times.toSent.clone(), Groups: l.instance.commit.groups(),
	}
}

// Add adds the figures of another shard that can be added.
func (f *Figures) Add(more Figures) {
	if f.Up && !more.Up {
		f.Up, f.Why = false, more.Why
	}
	f.Stats.Moves += more.Stats.Moves
	f.Stats.Finished += more.Stats.Finished
	f.Stats.Hellos += more.Stats.Hellos
	f.Stats.NewPlayers += more.Stats.NewPlayers
	g, m := &f.Gauges, &more.Gauges
	for _, of := range [][2]*int{
		{&g.Boards, &m.Boards}, {&g.FreeBoards, &m.FreeBoards}, {&g.AsleepBoards, &m.AsleepBoards},
		{&g.Here, &m.Here}, {&g.Waiting, &m.Waiting}, {&g.Players, &m.Players}, {&g.LivePlayers, &m.LivePlayers},
		{&g.Bots, &m.Bots}, {&g.Watchers, &m.Watchers}, {&g.Predictions, &m.Predictions},
		{&g.Held, &m.Held}, {&g.Loading, &m.Loading},
	} {
		*of[0] += *of[1]
	}
	for i, n := range more.Boards {
		f.Boards[i] += n
	}
	f.Queue.Depth += more.Queue.Depth
	f.Queue.OldestAge = max(f.Queue.OldestAge, more.Queue.OldestAge)
	for class, n := range more.Shed {
		f.Shed[class] += n
	}
	f.Panics += more.Panics
	f.Refused += more.Refused
	f.Store = f.Store.Merge(more.Store)
}
