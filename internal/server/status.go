package server

import (
	"context"
	"os"
	"time"

	"wamble"
	"wamble/internal/host"
)

// Status looks at everything.
func (s *Server) Status(ctx context.Context) host.Status {
	r := s.runner.Stats()
	status := host.Status{
		PID: os.Getpid(), Uptime: wamble.InSeconds(time.Since(s.started)), Data: s.dir, Admin: s.Admin(),
		Journal: host.JournalStatus{
			State: r.State.String(), Durability: s.o.Config.Server.Durability, DeadLetters: r.DeadLetters,
		},
	}
	status.Draining, status.Handoff = s.house.draining.Load(), s.lastHandoff()
	s.house.mu.RLock()
	status.Reload = s.house.reloaded
	s.house.mu.RUnlock()
	for _, d := range s.departures() {
		q := d.queue(&r)
		status.Departing = append(status.Departing, host.Departing{Name: d.name, Store: d.store.Name, Depth: q.Depth, Age: wamble.InSeconds(q.OldestAge)})
	}
	for _, k := range s.keepers() {
		status.Profiles = append(status.Profiles, k.status(ctx))
	}
	return status
}

func (k *keeper) status(ctx context.Context) host.ProfileStatus {
	look, port := k.look(ctx), k.port.Load()
	p := host.ProfileStatus{
		Name: k.name, Ready: look.up, Stage: look.why,
		UDP: port.Addr().String(), HTTP: port.TCPAddr().String(), Store: k.store.Name, Away: look.store.away || look.store.refuses,
		Boards:   map[string]int{},
		Sessions: look.gauges.Players, Present: look.gauges.LivePlayers, Moves: look.stats.Moves,
		Depth: look.queue.Depth, Age: wamble.InSeconds(look.queue.OldestAge),
	}
	p.Failures, _ = k.failures()
	p.Brownout, p.Bans = host.BrownoutWords(k.help.restrictions.Brownout()), len(k.help.restrictions.Bans())
	for i, n := range look.boards {
		p.Boards[wamble.BoardStatus(i).String()] = n
	}
	return p
}
