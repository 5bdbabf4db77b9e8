package server

import (
	"context"
	"slices"
	"time"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/store"
)

// departure is a profile that was removed while its journal has messages that its store
// lacks. They are drained without a listener.
type departure struct {
	*supervisor
	cancel context.CancelFunc
	done   chan struct{}
}

// depart drains the journal of a profile whose loop has ended, and releases its store.
func (s *Server) depart(k *supervisor) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &departure{supervisor: k, cancel: cancel, done: make(chan struct{})}
	s.house.mu.Lock()
	s.house.departing = append(s.house.departing, d)
	s.house.mu.Unlock()
	go func() {
		defer close(d.done)
		guard.Run("a departure", func() { d.Depart(ctx) }, d.caught)
		guard.Run("a departure", d.DropDrain, d.caught)
		if err := guard.Call("a departure", func() error { return s.giveStore(d.supervisor) }); err != nil {
			d.log.Warn("the store of a removed profile was not closed well", "err", err)
		}
		s.house.mu.Lock()
		defer s.house.mu.Unlock()
		s.house.departing = slices.DeleteFunc(s.house.departing, func(other *departure) bool { return other == d })
	}()
}

// recall ends the departure of a profile that is added again. Its new runtime drains.
func (s *Server) recall(name string) {
	for _, d := range s.departures() {
		if d.name == name {
			d.cancel()
			<-d.done
		}
	}
}

func (s *Server) departures() []*departure {
	s.house.mu.RLock()
	defer s.house.mu.RUnlock()
	return slices.Clone(s.house.departing)
}

// endDepartures waits for all departures until ctx ends, and then interrupts them.
func (s *Server) endDepartures(ctx context.Context) {
	for _, d := range s.departures() {
		select {
		case <-d.done:
		case <-ctx.Done():
			d.cancel()
			<-d.done
		}
	}
}

// departLeft starts departures for profiles that do not run and have messages in the
// journal. Their configuration must still name their store.
func (s *Server) departLeft(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	workers, err := journal.Workers(ctx, s.runner)
	if err != nil {
		s.log.Warn("the profiles of the journal cannot be read", "err", err)
		return
	}
	depth := map[uint64]uint64{}
	for _, in := range s.runner.Stats().Inboxes {
		depth[in.Worker] = in.Depth
	}
	leftOf := map[string]uint64{}
	for name, worker := range workers {
		of, _ := store.SplitName(name)
		leftOf[of] += depth[uint64(worker)]
	}
	for name, left := range leftOf {
		if left == 0 || s.supervisor(name) != nil {
			continue
		}
		cfg := s.o.Config.Profile(name)
		if name == config.DefaultName {
			cfg = s.o.Config.Default
		}
		if cfg == nil {
			s.log.Warn("the journal has messages of a profile that is not configured; define it, not advertised, and they are brought to its database",
				"profile", name, "messages", left)
			continue
		}
		k, err := s.newSupervisor(cfg, nil)
		if err != nil {
			s.log.Warn("the store of a profile that left cannot be opened", "profile", name, "err", err)
			continue
		}
		s.depart(k)
	}
}
