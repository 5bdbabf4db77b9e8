package server

import (
	"context"
	"os"
	"time"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/loop"
	"wamble/runner"
)

// Status returns the state of the server, its profiles and its journal.
func (s *Server) Status(ctx context.Context) host.Status {
	r := s.runner.Stats()
	status := host.Status{
		PID: os.Getpid(), Uptime: wamble.InSeconds(time.Since(s.started)), Data: s.dir, Admin: s.Admin(),
		Journal: host.JournalStatus{
			State: r.State.String(), Durability: s.durability(), DeadLetters: r.DeadLetters,
		},
	}
	status.Draining, status.Handoff = s.house.draining.Load(), s.successor.Result()
	s.house.mu.RLock()
	status.Reload = s.house.reloaded
	s.house.mu.RUnlock()
	if s.placed() {
		status.Parts = s.places.status()
		for _, part := range s.runners() {
			stats := part.Stats()
			status.Journal.DeadLetters += stats.DeadLetters
			if stats.State != runner.Running {
				status.Journal.State = stats.State.String()
			}
		}
	}
	for _, d := range s.departures() {
		q := d.Queue(&r)
		status.Departing = append(status.Departing, host.Departing{Name: d.name, Store: d.store.Name, Depth: q.Depth, Age: wamble.InSeconds(q.OldestAge)})
	}
	for _, k := range s.supervisors() {
		status.Profiles = append(status.Profiles, k.status(ctx))
	}
	return status
}

// durability returns how the journal is made durable: "postgres", or the option durability.
func (s *Server) durability() string {
	if clustered(s.o.Config) {
		return "postgres"
	}
	return s.o.Config.Server.Durability
}

func (k *supervisor) status(ctx context.Context) host.ProfileStatus {
	look, port := k.Runtime.Look(ctx), k.Port()
	shards := k.shardStatus(ctx, &look)
	look.Up, look.Why = k.Stage()
	p := host.ProfileStatus{
		Name: k.name, Ready: look.Up, Stage: look.Why,
		UDP: udpText(k, port), HTTP: port.TCPAddr().String(), Secure: port.Secured(), Store: k.store.Name, Away: look.Store.Away || look.Store.Refuses, Trouble: look.Store.Trouble,
		Boards:   map[string]int{},
		Sessions: look.Gauges.Players, Present: look.Gauges.LivePlayers, Moves: look.Stats.Moves,
		Depth: look.Queue.Depth, Age: wamble.InSeconds(look.Queue.OldestAge),
	}
	p.Shards = shards
	for _, l := range k.loops() {
		n, _ := l.failures()
		p.Failures += n
	}
	p.Brownout, p.Bans = host.BrownoutWords(k.restrictions.Brownout()), len(k.restrictions.Bans())
	for i, n := range look.Boards {
		p.Boards[wamble.BoardStatus(i).String()] = n
	}
	return p
}

// shardStatus returns the state of each shard; nil if there is one. It adds the figures of
// all but the first to sum.
func (k *supervisor) shardStatus(ctx context.Context, sum *loop.Figures) (list []host.ShardStatus) {
	if len(k.siblings) == 0 {
		return nil
	}
	for i, l := range k.loops() {
		look := *sum
		if l.isAway() {
			_, why := l.Runtime.Stage()
			list = append(list, host.ShardStatus{Stage: why, Away: true})
			continue
		}
		if i > 0 {
			look = l.Runtime.Look(ctx)
		}
		list = append(list, host.ShardStatus{
			Ready: look.Up, Stage: look.Why, Open: k.Port().IsOpen(i), Boards: look.Gauges.Boards, Sessions: look.Gauges.Players,
			Present: look.Gauges.LivePlayers, Moves: look.Stats.Moves, Depth: look.Queue.Depth, Age: wamble.InSeconds(look.Queue.OldestAge),
		})
		if i > 0 {
			sum.Add(look)
		}
	}
	return list
}
