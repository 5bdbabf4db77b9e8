package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/watchtest"
)

// TestAdoptedMemory: the memory of an adopted state is released once, when the boards that
// were written ahead are read, or when the instance that has not read them ends; waiters for
// that are notified.
func TestAdoptedMemory(t *testing.T) {
	old := profile.AheadOptions
	t.Cleanup(func() { profile.AheadOptions = old })
	for name, end := range map[string]func(rt *running){
		"taken in": func(rt *running) {
			rt.Do(t.Context(),
				func(*profile.Profile) { profile.AheadOptions.Part = 100 })
		},
		"another life": func(rt *running) { rt.instance.Load().fail(errors.New("the disk is gone")) },
		"the end":      func(rt *running) { rt.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			profile.AheadOptions.From, profile.AheadOptions.Keep, profile.AheadOptions.Part = 1, 50, 0
			m := newMachineOf(t, 500)
			p := m.life.profile
			ahead := p.BeginAhead()
			ahead.Sort()
			written, _ := p.WriteAhead(ahead, nil, 500)
			state, err := p.Snapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			var forgotten atomic.Int32
			a, err := Adopt(newMachine(t).cfg, wamble.Shard{}, state, ahead.End(written), func() { forgotten.Add(1) })
			if err != nil {
				t.Fatal(err)
			}
			rt := runAdopted(t, a)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if rt.AwaitAdopted(gone) || forgotten.Load() != 0 {
				t.Fatal("the state is not looked at any more, though nothing was taken in")
			}
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				rt.AwaitAdopted(t.Context())
			}()
			end(rt)
			<-waited
			rt.stop()
			<-rt.ended
			if n := forgotten.Load(); n != 1 {
				t.Errorf("its memory was given back %d times", n)
			}
		})
	}
}

// TestAdoptedHearsStore: the store has everything that an adopted profile has decided, and
// the former process was not told. The profile learns it, though the journal is empty: until
// then it would accept no board of another shard.
func TestAdoptedHearsStore(t *testing.T) {
	rt := run(t)
	watchtest.Until(t, "the store has all boards",
		func() bool { d := rt.drain.Load(); return d.Drained() > 0 && d.IsEmpty() })
	rt.stop()
	<-rt.ended
	m := newMachineOf(t, rt.o.Config.Boards.MinBoards)
	settled, last := m.life.profile.Stored()
	if settled == last || last > rt.drain.Load().Drained() {
		t.Fatalf("index %d of %d is stored, and the store has %d messages", settled, last, rt.drain.Load().Drained())
	}
	state, err := m.life.profile.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Adopt(m.cfg, wamble.Shard{}, state, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	rt.Succeed(a)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	watchtest.Until(t, "the profile knows what the store has", func() bool {
		rt.Do(ctx, func(p *profile.Profile) { settled, last = p.Stored() })
		return settled == last
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
