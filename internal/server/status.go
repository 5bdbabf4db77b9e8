package server

import (
	"context"
	"os"
	"time"

	"wamble"
)

// Status is what a server says of itself.
type Status struct {
	PID      int             `json:"pid"`
	Uptime   Seconds         `json:"uptime"`
	Data     string          `json:"data"`
	Admin    string          `json:"admin,omitempty"`
	Journal  JournalStatus   `json:"journal"`
	Profiles []ProfileStatus `json:"profiles"`
}

// Seconds is a duration, in seconds when it is JSON.
type Seconds float64

// Duration returns it in Go's form, to the millisecond.
func (s Seconds) Duration() time.Duration {
	return time.Duration(float64(s) * float64(time.Second)).Round(time.Millisecond)
}

func seconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// JournalStatus is how the journal stands.
type JournalStatus struct {
	State       string `json:"state"`
	Durability  string `json:"durability"`
	DeadLetters uint64 `json:"dead_letters"`
}

// ProfileStatus is how a profile stands.
type ProfileStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Stage    string         `json:"stage"`
	UDP      string         `json:"udp"`
	HTTP     string         `json:"http"`
	Store    string         `json:"store"`
	Away     bool           `json:"store_away"`
	Boards   map[string]int `json:"boards"`
	Sessions int            `json:"sessions"`
	Present  int            `json:"sessions_present"`
	Moves    uint64         `json:"moves"`
	Depth    uint64         `json:"queue_depth"`
	Age      Seconds        `json:"queue_age"`
	Failures int            `json:"failures"` // restarts of the profile since the start
}

// Ready reports whether all profiles serve players.
func (s Status) Ready() bool {
	for _, p := range s.Profiles {
		if !p.Ready {
			return false
		}
	}
	return len(s.Profiles) > 0
}

// Status looks at everything.
func (s *Server) Status(ctx context.Context) Status {
	r := s.runner.Stats()
	status := Status{
		PID: os.Getpid(), Uptime: seconds(time.Since(s.started)), Data: s.dir, Admin: s.Admin(),
		Journal: JournalStatus{
			State: r.State.String(), Durability: s.o.Config.Server.Durability, DeadLetters: r.DeadLetters,
		},
	}
	for _, k := range s.keepers() {
		status.Profiles = append(status.Profiles, k.status(ctx))
	}
	return status
}

func (k *keeper) status(ctx context.Context) ProfileStatus {
	look, port := k.look(ctx), k.port.Load()
	p := ProfileStatus{
		Name: k.name, Ready: look.up, Stage: look.why,
		UDP: port.Addr().String(), HTTP: port.TCPAddr().String(), Store: k.store.Name, Away: look.away || look.refuses,
		Boards:   map[string]int{},
		Sessions: look.gauges.Players, Present: look.gauges.LivePlayers, Moves: look.stats.Moves,
		Depth: look.queue.Depth, Age: seconds(look.queue.OldestAge),
	}
	p.Failures, _ = k.failures()
	for i, n := range look.boards {
		p.Boards[wamble.BoardStatus(i).String()] = n
	}
	return p
}
