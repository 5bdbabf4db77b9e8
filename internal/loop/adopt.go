package loop

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/profile"
)

// Adopted is a profile that was made from the state of the previous process, before its journal is open.
type Adopted struct {
	options profile.Options
	clock   clock
	profile *profile.Profile
	inputs  []profile.Input
	now     time.Time
	out     profile.Output
}

// Adopt makes a profile from the slices of Frozen.State.
func Adopt(cfg *config.Profile, shard wamble.Shard, state [][]byte) (*Adopted, error) {
	c := newClock(time.Now())
	a := &Adopted{options: profile.Options{Config: cfg, Now: c.start, Shard: shard}, clock: c}
	for _, data := range state {
		a.inputs = append(a.inputs, &profile.ResumeSlice{Data: data})
	}
	a.inputs = append(a.inputs, &profile.ResumeEnd{})
	if _, err := rand.Read(a.options.Seed[:]); err != nil {
		return nil, err
	}
	a.now, _ = a.clock.at(time.Now())
	a.profile = profile.New(a.options)
	a.profile.Step(a.now, a.inputs, &a.out)
	a.clock.adopt(a.profile)
	return a, errors.Join(a.out.Troubles...)
}

// Succeed makes the next Run begin with an adopted profile instead of store and journal.
func (rt *Runtime) Succeed(a *Adopted) { rt.adopted = a }

// adopt makes the adopted profile the first instance. The journal is open by then; the store is not read.
func (rt *Runtime) adopt(ctx context.Context) (*instance, error) {
	a := rt.adopted
	rt.adopted = nil
	if err := rt.makeDrain(ctx); err != nil {
		return nil, err
	}
	if lease := rt.journal().Lease; lease != nil {
		a.clock.advanceWall(lease.ClockOffset)
	}
	inst, err := rt.instanceOf(a.options, a.clock, a.profile)
	if err != nil {
		return nil, err
	}
	inst.out = a.out
	inst.record.Step(a.now, a.inputs, &inst.out)
	// These come before the first packets, as events do. The ports were not bound when the profile was made.
	if cfg := rt.o.Server.TruePorts(a.options.Config); cfg != a.options.Config {
		inst.mailbox.putEvents(&profile.Configure{Config: cfg})
	}
	for _, in := range append(rt.o.Server.Restrictions(), &profile.Ready{}) {
		inst.mailbox.putEvents(in)
	}
	// The previous process may not have learned how far the store has come, and an empty journal would never
	// report it.
	inst.mailbox.setApplied(rt.drain.Load().Drained())
	inst.commit.begin()
	rt.instance.Store(inst)
	return inst, nil
}

// afterAdoption carries out the output of the adoption, before the loop runs.
func (l *loop) afterAdoption() {
	now := time.Now()
	l.afterStep(now, false)
	l.err = send(l.port, &l.instance.out.Packets, l.rt.journal().Lease)
	l.nextStep = now
}

// firstReplyTimeout is how long AwaitFirstReply waits for the first packet.
const firstReplyTimeout = 250 * time.Millisecond

// AwaitFirstReply waits until the first packet was sent, or firstReplyTimeout has passed: the players who were frozen
// are answered before the store is used.
func (rt *Runtime) AwaitFirstReply(ctx context.Context) {
	for end := time.Now().Add(firstReplyTimeout); ctx.Err() == nil && time.Now().Before(end); {
		if rt.port.Load().UDP().Stats().Sent > 0 {
			return
		}
		sleep(ctx, time.Millisecond)
	}
}
