package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"wamble"
	"wamble/internal/profile"
)

// TestAdoptedMemory: the memory of an adopted state is given back once, when boards that
// were written ahead are taken in, or when the life that has not yet is over; who waits
// for that is told.
func TestAdoptedMemory(t *testing.T) {
	old := profile.Shelf
	t.Cleanup(func() { profile.Shelf = old })
	for name, end := range map[string]func(rt *running){
		"taken in":     func(rt *running) { rt.Do(t.Context(), func(*profile.Profile) { profile.Shelf.Part = 100 }) },
		"another life": func(rt *running) { rt.life.Load().fail(errors.New("the disk is gone")) },
		"the end":      func(rt *running) { rt.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			profile.Shelf.From, profile.Shelf.Keep, profile.Shelf.Part = 1, 50, 0
			m := newMachineOf(t, 500)
			p := m.life.profile
			ahead := p.BeginAhead()
			ahead.Sort()
			shelf, _ := p.WriteAhead(ahead, nil, 500)
			state, err := p.Snapshot(nil)
			if err != nil {
				t.Fatal(err)
			}
			var forgotten atomic.Int32
			a, err := Adopt(newMachine(t).cfg, wamble.Shard{}, state, ahead.End(shelf), func() { forgotten.Add(1) })
			if err != nil {
				t.Fatal(err)
			}
			rt := runAdopted(t, a)
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if rt.AwaitWhole(gone) || forgotten.Load() != 0 {
				t.Fatal("the state is not looked at any more, though nothing was taken in")
			}
			waited := make(chan struct{})
			go func() {
				defer close(waited)
				rt.AwaitWhole(t.Context())
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
