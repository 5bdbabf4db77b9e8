package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"wamble"
	"wamble/internal/handoff"
	"wamble/internal/profile"
)

// Status is what a server says of itself.
type Status struct {
	PID      int             `json:"pid"`
	Uptime   wamble.Seconds  `json:"uptime"`
	Data     string          `json:"data"`
	Admin    string          `json:"admin,omitempty"`
	Journal  JournalStatus   `json:"journal"`
	Draining bool            `json:"draining"`
	Profiles []ProfileStatus `json:"profiles"`
	// Departing are profiles that were removed, with what the journal still has
	// for their databases.
	Departing []Departing     `json:"departing,omitempty"`
	Reload    *Reloaded       `json:"last_reload,omitempty"`
	Handoff   *handoff.Result `json:"last_handoff,omitempty"`
}

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
	Age      wamble.Seconds `json:"queue_age"`
	Failures int            `json:"failures"` // restarts of the profile since the start
	Orders
}

// Orders are what the host has said of a profile and still holds.
type Orders struct {
	Brownout []string `json:"brownout,omitempty"`
	Bans     int      `json:"bans,omitempty"`
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
		PID: os.Getpid(), Uptime: wamble.InSeconds(time.Since(s.started)), Data: s.dir, Admin: s.Admin(),
		Journal: JournalStatus{
			State: r.State.String(), Durability: s.o.Config.Server.Durability, DeadLetters: r.DeadLetters,
		},
	}
	status.Draining, status.Handoff = s.house.draining.Load(), s.successor.Result()
	s.house.mu.RLock()
	status.Reload = s.house.reloaded
	s.house.mu.RUnlock()
	for _, d := range s.departures() {
		q := d.Queue(&r)
		status.Departing = append(status.Departing, Departing{Name: d.name, Store: d.store.Name, Depth: q.Depth, Age: wamble.InSeconds(q.OldestAge)})
	}
	for _, k := range s.keepers() {
		status.Profiles = append(status.Profiles, k.status(ctx))
	}
	return status
}

func (k *keeper) status(ctx context.Context) ProfileStatus {
	look, port := k.Look(ctx), k.Port()
	p := ProfileStatus{
		Name: k.name, Ready: look.Up, Stage: look.Why,
		UDP: port.Addr().String(), HTTP: port.TCPAddr().String(), Store: k.store.Name, Away: look.Store.Away || look.Store.Refuses,
		Boards:   map[string]int{},
		Sessions: look.Gauges.Players, Present: look.Gauges.LivePlayers, Moves: look.Stats.Moves,
		Depth: look.Queue.Depth, Age: wamble.InSeconds(look.Queue.OldestAge),
	}
	p.Failures, _ = k.failures()
	k.word.Lock()
	p.Brownout, p.Bans = brownoutWords(k.standing.effective(k.draining.Load())), len(k.standing.Bans)
	k.word.Unlock()
	for i, n := range look.Boards {
		p.Boards[wamble.BoardStatus(i).String()] = n
	}
	return p
}

// brownouts are the switches of a brown-out, with their words.
var brownouts = []struct {
	word string
	on   func(*profile.Brownout) *bool
}{
	{"no-new-sessions", func(b *profile.Brownout) *bool { return &b.NoNewSessions }},
	{"no-predictions", func(b *profile.Brownout) *bool { return &b.NoPredictions }},
	{"slow-watching", func(b *profile.Brownout) *bool { return &b.SlowWatching }},
	{"read-only", func(b *profile.Brownout) *bool { return &b.ReadOnly }},
}

func brownoutWords(b profile.Brownout) (words []string) {
	for _, s := range brownouts {
		if *s.on(&b) {
			words = append(words, s.word)
		}
	}
	return words
}

// BrownoutWords are the switches of a brown-out.
func BrownoutWords() (words []string) {
	for _, s := range brownouts {
		words = append(words, s.word)
	}
	return words
}

// ParseBrownout reads a list of switches.
func ParseBrownout(words []string) (b profile.Brownout, err error) {
	for _, word := range words {
		known := false
		for _, s := range brownouts {
			if s.word == word {
				*s.on(&b), known = true, true
			}
		}
		if !known {
			return b, fmt.Errorf("there is no switch %q; there are %s", word, strings.Join(BrownoutWords(), ", "))
		}
	}
	return b, nil
}
