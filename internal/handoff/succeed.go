package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/store"
)

// Result is the result of a handoff, as the image that serves now reports it.
type Result struct {
	At      time.Time      `json:"at"`
	PID     int            `json:"pid"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	Failure string         `json:"failure,omitempty"` // why the new image returned to the old one
	Frozen  wamble.Seconds `json:"frozen"`            // how long nothing was read
	Phases  []Phase        `json:"phases"`
	// Preview has what would happen, one line each; set only by a dry run.
	Preview []string `json:"preview,omitzero"`
}

// Successor is the new image's side of a handoff. It adopts the states of the profiles while
// the journal is opened, and finishes the handoff when players are served.
type Successor struct {
	inheritance *Inheritance      // nil after a normal start
	states      map[string]*state // by shard, until Adopt

	mu     sync.Mutex // guards result
	result *Result
	ended  chan struct{} // closed when there is a result
}

// state is the state of a shard that is being adopted.
type state struct {
	adopted *loop.Adopted
	err     error
	done    chan struct{}
}

// Begin starts to adopt the states of profiles. H may be nil: then there are none.
func Begin(h *Inheritance, profiles []*config.Profile) *Successor {
	s := &Successor{inheritance: h, states: map[string]*state{}, ended: make(chan struct{})}
	if h == nil {
		return s
	}
	for _, cfg := range profiles {
		for k := range cfg.Boards.Shards {
			name := store.ShardName(cfg.Name, k)
			if path, ok := h.States[name]; ok {
				st := &state{done: make(chan struct{})}
				s.states[name] = st
				go st.load(path, name, cfg, wamble.Shard{Index: k, Of: cfg.Boards.Shards})
			}
		}
	}
	return s
}

// load restores a shard from a state file. A panic becomes an error, so that the old image
// can take over again.
func (st *state) load(path, name string, cfg *config.Profile, shard wamble.Shard) {
	defer close(st.done)
	defer guard.Into(&st.err, "the adoption of a state")
	text, err := Read(path, name)
	if err != nil {
		st.err = err
		return
	}
	st.adopted, st.err = loop.Adopt(cfg, shard, text)
}

// Adopt waits for the states and gives them to the runtimes, which do not run yet. After an
// error the old image takes over again.
func (s *Successor) Adopt(profiles []*loop.Runtime) error {
	for name, st := range s.states {
		if <-st.done; st.err != nil {
			return fmt.Errorf("adopt profile %s: %w", name, st.err)
		}
	}
	for _, rt := range profiles {
		if st := s.states[rt.Name()]; st != nil {
			rt.Succeed(st.adopted)
		}
	}
	s.states = nil
	return nil
}

// AwaitServed waits until the profiles that served players before the handoff do so again.
// Other profiles are not waited for, because they may lack their database. Error: that of
// ctx.
func (s *Successor) AwaitServed(ctx context.Context, profiles []*loop.Runtime) error {
	for _, rt := range s.served(profiles) {
		select {
		case <-rt.Up():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// served returns the profiles that served players before the handoff.
func (s *Successor) served(profiles []*loop.Runtime) []*loop.Runtime {
	return slices.DeleteFunc(slices.Clone(profiles),
		func(rt *loop.Runtime) bool { return !s.inheritance.serves(rt.Name()) })
}

// Finish waits until players are served again. Then it logs the result, answers the client
// that waits for it with answer, and releases what was kept for a return to the old image.
// Version is that of this image. Opened is when the server was open and its loops were not
// started.
func (s *Successor) Finish(ctx context.Context, profiles []*loop.Runtime, version string, opened time.Time,
	log *slog.Logger, answer func(to io.Writer, web bool, r *Result)) {
	h := s.inheritance
	if h == nil {
		return
	}
	defer h.resumeGC()
	if s.AwaitServed(ctx, profiles) != nil {
		return
	}
	now := h.Lap("begin", opened)
	r := &Result{
		At: now, PID: os.Getpid(), From: h.Note.From, To: version, Failure: h.Note.Failure,
		Frozen: wamble.InSeconds(now.Sub(time.Unix(0, h.Note.Frozen))), Phases: h.Note.Phases,
	}
	s.mu.Lock()
	s.result = r
	s.mu.Unlock()
	close(s.ended)
	if err := errors.Join(h.RemoveStates(), h.Close()); err != nil {
		log.Warn("something of the handoff was left behind", "err", err)
	}
	attrs := []any{"from", r.From, "to", r.To, "frozen", r.Frozen.Duration()}
	for _, p := range r.Phases {
		attrs = append(attrs, p.Name, p.Took.Round(100*time.Microsecond))
	}
	if r.Failure != "" {
		log.Error("the new image could not take over; this one serves again", append(attrs, "err", r.Failure)...)
	} else {
		log.Info("taken over", attrs...)
	}
	if report := h.Report(); report != nil {
		answer(report, h.Note.Web, r)
		report.Close()
	}
	h.CloseNote()
	for _, rt := range s.served(profiles) {
		rt.AwaitFirstReply(ctx) // the deferred resumeGC comes after the first answers
	}
}

// Repeated returns the result of the handoff that started this image, if it was requested
// with that key; otherwise nil.
func (s *Successor) Repeated(ctx context.Context, key string) *Result {
	if s.inheritance == nil || key == "" || s.inheritance.Note.Key != key {
		return nil
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
	}
	return s.Result()
}

// Result returns the result of the handoff that started this image; nil if there was none or
// it has not finished.
func (s *Successor) Result() *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.result
}
