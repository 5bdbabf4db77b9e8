package loop

import (
	"bytes"
	"context"
	"testing"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/watchtest"
)

// stateOf is what a machine's profile hands over.
func stateOf(t *testing.T, m *machine) (state [][]byte) {
	t.Helper()
	for data, err := range m.life.profile.HandOver(sliceSize) {
		if err != nil {
			t.Fatal(err)
		}
		state = append(state, bytes.Clone(data))
	}
	return state
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
	a, err := Adopt(m.cfg, wamble.Shard{}, stateOf(t, m))
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
