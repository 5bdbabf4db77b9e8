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

// Figures are everything that can be told about a runtime at one moment: by the
// metrics and by the status.
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
	Streams   transport.GatewayStats
	Runner    runner.Stats
	Health    board.Health // of the last healthTime
	Queue     runner.InboxStats
	Store     StoreState
	Panics    uint64 // caught so far
	Refused   uint64 // packets in quarantine

	CertificateEnds time.Time // zero without TLS
}

// StoreState is how the store does.
type StoreState struct {
	Away    bool    // it cannot be asked
	Refuses bool    // it cannot be written
	Brake   float64 // share of its time that the loop was held by the drain, lately
	Trouble string  // what only the host can end, with advice
}

// And is how the store does for two shards together.
func (s StoreState) And(more StoreState) StoreState {
	return StoreState{s.Away || more.Away, s.Refuses || more.Refuses, max(s.Brake, more.Brake), cmp.Or(s.Trouble, more.Trouble)}
}

// healthTime is how often all boards are looked at, at most.
const healthTime = 10 * time.Second

// lookTime is how long a look at a runtime may take.
const lookTime = 2 * time.Second

// Look takes the figures. What the loop knows is empty before it runs.
func (rt *Runtime) Look(ctx context.Context) Figures {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s := Figures{
		ToDurable: newHistogram(LatencyBounds), ToSent: newHistogram(LatencyBounds), Groups: newHistogram(groupBounds),
		UDP: rt.port.Load().UDP().Stats(), Streams: rt.port.Load().Stats(), Runner: rt.journal().Runner.Stats(),
	}
	if c := rt.port.Load().Certificate(); c != nil {
		s.CertificateEnds = c.Leaf.NotAfter
	}
	s.Up, s.Why = rt.Stage()
	s.Store = rt.StoreState()
	s.Panics, s.Refused = rt.panics.Load(), rt.quarantine.refused.Load()
	s.Queue = rt.Queue(&s.Runner)
	if l := rt.loop.Load(); l != nil {
		seen := make(chan Figures, 1)
		if l.do(ctx, func() { seen <- l.look() }) {
			loop := <-seen
			s.Stats, s.Gauges, s.Link, s.Boards, s.Health = loop.Stats, loop.Gauges, loop.Link, loop.Boards, loop.Health
			s.ToDurable, s.ToSent, s.Groups = loop.ToDurable, loop.ToSent, loop.Groups
		}
	}
	return s
}

// StoreState is how the store does at present.
func (rt *Runtime) StoreState() StoreState {
	return StoreState{rt.watch.away.Load(), rt.watch.refuses.Load(), rt.pace.brake.share(), rt.watch.trouble()}
}

// Queue is the part of the journal that the store does not have yet.
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

// look is what the loop knows.
func (l *loop) look() Figures {
	p := l.life.profile
	if now := time.Now(); now.Sub(l.healthAt) > healthTime {
		l.health, l.healthAt = p.Health(now), now
	}
	return Figures{
		Health: l.health,
		Stats:  p.Stats(), Gauges: p.Gauges(), Link: p.LinkStats(), Boards: p.Census(),
		ToDurable: l.times.toDurable.clone(), ToSent: l.times.toSent.clone(), Groups: l.life.commit.groups(),
	}
}

// Add adds the figures of another shard, as far as they can be added.
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
		{&g.Boards, &m.Boards}, {&g.FreeBoards, &m.FreeBoards}, {&g.AsleepBoards, &m.AsleepBoards}, {&g.Here, &m.Here}, {&g.Waiting, &m.Waiting},
		{&g.Players, &m.Players}, {&g.LivePlayers, &m.LivePlayers}, {&g.Bots, &m.Bots}, {&g.Watchers, &m.Watchers}, {&g.Predictions, &m.Predictions},
		{&g.Held, &m.Held}, {&g.Loading, &m.Loading}, {&g.UnsettledGates, &m.UnsettledGates},
	} {
		*of[0] += *of[1]
	}
	for i, n := range more.Boards {
		f.Boards[i] += n
	}
	f.Queue.Depth += more.Queue.Depth
	f.Queue.OldestAge = max(f.Queue.OldestAge, more.Queue.OldestAge)
	f.Panics += more.Panics
	f.Refused += more.Refused
	f.Store = f.Store.And(more.Store)
}
