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

// removedProfile is a profile that was removed while its journal has messages that its store
// lacks. They are drained without a listener.
type removedProfile struct {
	*supervisor
	cancel context.CancelFunc
	done   chan struct{}
}

// drainRemoved drains the journal of a profile whose loop has ended, and releases its store.
func (s *Server) drainRemoved(sup *supervisor) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &removedProfile{supervisor: sup, cancel: cancel, done: make(chan struct{})}
	s.running.mu.Lock()
	s.running.removed = append(s.running.removed, d)
	s.running.mu.Unlock()
	go func() {
		defer close(d.done)
		guard.Run("a departure", func() { d.DrainRemoved(ctx) }, d.reportPanic)
		guard.Run("a departure", d.DropDrain, d.reportPanic)
		if err := guard.Call("a departure", func() error { return s.releaseStore(d.supervisor) }); err != nil {
			d.log.Warn("the store of a removed profile was not closed well", "err", err)
		}
		s.running.mu.Lock()
		defer s.running.mu.Unlock()
		s.running.removed = slices.DeleteFunc(s.running.removed, func(other *removedProfile) bool { return other == d })
	}()
}

// cancelDrain ends the departure of a profile that is added again. Its new runtime drains.
func (s *Server) cancelDrain(name string) {
	for _, d := range s.removedProfiles() {
		if d.name == name {
			d.cancel()
			<-d.done
		}
	}
}

func (s *Server) removedProfiles() []*removedProfile {
	s.running.mu.RLock()
	defer s.running.mu.RUnlock()
	return slices.Clone(s.running.removed)
}

// endRemoved waits for all departures until ctx ends, and then interrupts them.
func (s *Server) endRemoved(ctx context.Context) {
	for _, d := range s.removedProfiles() {
		select {
		case <-d.done:
		case <-ctx.Done():
			d.cancel()
			<-d.done
		}
	}
}

// drainLeftovers starts departures for profiles that do not run and have messages in the
// journal. Their configuration must still name their store.
func (s *Server) drainLeftovers(ctx context.Context) {
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
	undrainedOf := map[string]uint64{}
	for name, worker := range workers {
		of, _ := store.SplitName(name)
		undrainedOf[of] += depth[uint64(worker)]
	}
	for name, undrained := range undrainedOf {
		if undrained == 0 || s.supervisor(name) != nil {
			continue
		}
		cfg := s.o.Config.Profile(name)
		if name == config.DefaultName {
			cfg = s.o.Config.Default
		}
		if cfg == nil {
			s.log.Warn("the journal has messages of a profile that is not configured; define it, not advertised, and they are brought to its database",
				"profile", name, "messages", undrained)
			continue
		}
		sup, err := s.newSupervisor(cfg, nil)
		if err != nil {
			s.log.Warn("the store of a profile that left cannot be opened", "profile", name, "err", err)
			continue
		}
		s.drainRemoved(sup)
	}
}
