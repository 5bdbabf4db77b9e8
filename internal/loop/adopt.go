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

// Adopted is a profile that was made of the state of another image, before its
// journal is there.
type Adopted struct {
	options profile.Options
	clock   clock
	profile *profile.Profile
	inputs  []profile.Input
	forget  func() // gives the memory of the state back
	now     time.Time
	out     profile.Output
}

// Adopt makes a profile of a state that Snapshot has written, and of what was written
// ahead of it; nil: nothing. Forget gives the memory of both back; it is called when
// nobody looks at it any more.
func Adopt(cfg *config.Profile, shard wamble.Shard, state, ahead []byte, forget func()) (*Adopted, error) {
	c := newClock(time.Now())
	a := &Adopted{options: profile.Options{Config: cfg, Now: c.start, Shard: shard}, clock: c, forget: forget}
	if len(ahead) > 0 {
		a.inputs = append(a.inputs, &profile.Shelve{Data: ahead})
	}
	a.inputs = append(a.inputs, &profile.Adopt{Data: state})
	if _, err := rand.Read(a.options.Seed[:]); err != nil {
		return nil, err
	}
	a.now, _ = a.clock.at(time.Now())
	a.profile = profile.New(a.options)
	a.profile.Step(a.now, a.inputs, &a.out)
	a.clock.adopt(a.profile)
	return a, errors.Join(a.out.Troubles...)
}

// Succeed lets the next Run begin with an adopted profile instead of store and
// journal.
func (rt *Runtime) Succeed(a *Adopted) { rt.adopted = a }

// adopt makes the adopted profile the first life. The journal is there; the store
// is not asked.
func (rt *Runtime) adopt(ctx context.Context) (*life, error) {
	a := rt.adopted
	rt.adopted = nil
	if err := rt.makeDrain(ctx); err != nil {
		a.forget()
		return nil, err
	}
	if rt.journal().Ahead != nil {
		a.clock.follow(rt.journal().Ahead)
	}
	l, err := rt.lifeOf(a.options, a.clock, a.profile)
	if err != nil {
		a.forget()
		return nil, err
	}
	l.out = a.out
	l.record.Step(a.now, a.inputs, &l.out)
	l.whole, l.forget = make(chan struct{}), a.forget
	if cfg := rt.o.TruePorts(a.options.Config); cfg != a.options.Config {
		l.mail.post(&profile.Configure{Config: cfg}) // the ports were not bound when the profile was made
	}
	// The image before may not have heard how far the store came: of an empty journal
	// nobody would hear it.
	l.mail.appliedTo(rt.drain.Load().Settled())
	l.commit.begin()
	rt.life.Store(l)
	return l, nil
}

// checkAdoption ends the adoption when everything is taken in.
func (l *life) checkAdoption() {
	if l.whole != nil && !l.profile.Adopting() {
		l.endAdoption()
	}
}

// endAdoption gives the memory of an adopted state back, which nobody looks at any more,
// and tells those who wait for that.
func (l *life) endAdoption() {
	if l.whole != nil {
		l.forget()
		close(l.whole)
		l.whole = nil
	}
}

// AwaitWhole waits until the profile has taken in all that was written ahead. It reports
// false if that does not happen before ctx ends, or the loop ends.
func (rt *Runtime) AwaitWhole(ctx context.Context) bool {
	l := rt.loop.Load()
	var whole chan struct{}
	if l == nil || !l.do(ctx, func() { whole = l.life.whole }) {
		return false
	}
	if whole == nil {
		return true
	}
	select {
	case <-whole:
		return true
	case <-l.ended:
	case <-ctx.Done():
	}
	return false
}

// succeed does what follows from the adoption, before the loop runs.
func (l *loop) succeed() {
	now := time.Now()
	l.follow(now, false)
	l.err = send(l.port, &l.life.out.Packets, l.rt.journal().Holds)
	l.until = now
}

// answerTime is how long a successor leaves the store alone if nobody asks
// anything.
const answerTime = 250 * time.Millisecond

// AwaitAnswer waits until the first packet was sent: what was frozen goes before
// everything else.
func (rt *Runtime) AwaitAnswer(ctx context.Context) {
	for end := time.Now().Add(answerTime); ctx.Err() == nil && time.Now().Before(end); {
		if rt.port.Load().UDP().Stats().Sent > 0 {
			return
		}
		wait(ctx, time.Millisecond)
	}
}
