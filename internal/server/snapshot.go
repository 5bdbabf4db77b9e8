package server

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/runner"
)

// snapshot is everything that can be told about a runtime at one moment: by the
// metrics and by the status.
type snapshot struct {
	up        bool
	why       string
	stats     profile.Stats
	gauges    profile.Gauges
	link      link.Stats
	boards    [wamble.Archived]int // by status
	toDurable histogram
	toSent    histogram
	groups    histogram
	udp       transport.UDPStats
	streams   transport.GatewayStats
	runner    runner.Stats
	queue     runner.InboxStats
	store     storeState
}

// storeState is how the store does.
type storeState struct {
	away    bool    // it cannot be asked
	refuses bool    // it cannot be written
	brake   float64 // share of its time that the loop leaves to the drain
}

// lookTime is how long a look at a runtime may take.
const lookTime = 2 * time.Second

// look takes a snapshot. What the loop knows is empty before it runs.
func (rt *runtime) look(ctx context.Context) snapshot {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s := snapshot{
		toDurable: newHistogram(latencyBounds), toSent: newHistogram(latencyBounds), groups: newHistogram(groupBounds),
		udp: rt.port.Load().UDP().Stats(), streams: rt.port.Load().Stats(), runner: rt.runner.Stats(),
	}
	s.up, s.why = rt.stage.get()
	s.store = storeState{rt.watch.away.Load(), rt.watch.refuses.Load(), rt.pace.brake.share(time.Now())}
	s.queue = rt.queue(&s.runner)
	if l := rt.loop.Load(); l != nil {
		seen := make(chan snapshot, 1)
		if l.do(ctx, func() { seen <- l.look() }) {
			loop := <-seen
			s.stats, s.gauges, s.link, s.boards = loop.stats, loop.gauges, loop.link, loop.boards
			s.toDurable, s.toSent, s.groups = loop.toDurable, loop.toSent, loop.groups
		}
	}
	return s
}

// queue is the part of the journal that the store does not have yet.
func (rt *runtime) queue(s *runner.Stats) runner.InboxStats {
	if d := rt.drain.Load(); d != nil {
		for _, in := range s.Inboxes {
			if in.Worker == uint64(d.Worker()) {
				return in
			}
		}
	}
	return runner.InboxStats{}
}

// lag is how far the store is behind the journal.
func (rt *runtime) lag() time.Duration {
	s := rt.runner.Stats()
	return rt.queue(&s).OldestAge
}

// look is what the loop knows.
func (l *loop) look() snapshot {
	p := l.life.profile
	return snapshot{
		stats: p.Stats(), gauges: p.Gauges(), link: p.LinkStats(), boards: p.Census(),
		toDurable: l.times.toDurable.clone(), toSent: l.times.toSent.clone(), groups: l.life.commit.groups(),
	}
}
