package loop

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/tape"
)

// life is a profile in memory, from its restore out of the store until it ends, or until the journal fails
// and it must be made anew. Its mail and its journal end with it, so nothing that belongs to one life
// reaches the next.
type life struct {
	profile *profile.Profile
	clock   clock
	commit  *groupCommit
	mail    *mail
	out     profile.Output
	record  *tape.File      // nil if it is not recorded
	failure chan error      // of the journal; holds the first
	leases  []profile.Lease // asked for before a loop led the life
	// whole is closed when an adopted state is taken in or dropped, and nil if there is none. forget
	// returns its memory.
	whole  chan struct{}
	forget func()
}

// newLife returns a life whose profile has restored nothing yet.
func (rt *Runtime) newLife() (*life, error) {
	c := newClock(time.Now())
	if rt.o.Skew != nil {
		c.skew(rt.o.Skew)
	}
	if rt.journal().Ahead != nil {
		c.advance(rt.journal().Ahead)
	}
	if rt.o.Clock != nil {
		c.toldBy(rt.o.Clock)
	}
	o := profile.Options{Config: rt.o.TruePorts(rt.cfg.Load()), Now: c.start, Shard: rt.o.Shard}
	if _, err := rand.Read(o.Seed[:]); err != nil {
		return nil, fmt.Errorf("entropy: %w", err)
	}
	return rt.lifeOf(o, c, profile.New(o))
}

// lifeOf returns a life of the profile p, which was made with options o and has followed the clock c so
// far.
func (rt *Runtime) lifeOf(o profile.Options, c clock, p *profile.Profile) (*life, error) {
	record, err := rt.o.Record.Next(o, rt.o.Log)
	if err != nil {
		return nil, err
	}
	drain := rt.drain.Load()
	l := &life{
		record:  record,
		profile: p,
		clock:   c,
		commit:  newGroupCommit(rt.journal().Runner, drain.Worker()),
		mail:    newMail(rt.wake),
		failure: make(chan error, 1),
	}
	l.commit.durable = func(p progress) {
		l.mail.durable(p.gate, p.seq)
		drain.Posted(p.messages)
	}
	l.commit.failed = l.fail
	l.commit.last = drain.Last()
	rt.hears.Store(l)
	return l, nil
}

// fail ends the life: the profile decides nothing more. Only the first error counts.
func (l *life) fail(err error) {
	select {
	case l.failure <- err:
		l.mail.post(&profile.JournalFailed{})
	default:
	}
}

// tell runs one step, which begins now, and records it.
func (l *life) tell(now time.Time, inputs []profile.Input) {
	at, set := l.clock.at(now)
	if set != nil {
		inputs = slices.Insert(inputs, 0, profile.Input(set))
	}
	l.profile.Step(at, inputs, &l.out)
	l.record.Step(at, inputs, &l.out)
}

// step runs one step outside of the loop, before begin: the group commit holds its frames.
func (l *life) step(inputs ...profile.Input) {
	l.tell(time.Now(), inputs)
	l.commit.put(&l.out.Frames, l.out.Gate, false)
}

// restoreBatch is how many boards are restored in a step.
const restoreBatch = 1024

// restore loads everything of the profile from the store: the boards that are not archived, the sessions
// that hold them, and numbers for new rows.
func (l *life) restore(ctx context.Context, rt *Runtime) error {
	l.step(rt.o.Standing()...)
	others := make(chan struct{})
	rt.guard("the wait for other profiles", func() {
		defer close(others)
		rt.awaitOthers(ctx)
	})
	err := l.supply(ctx, rt)
	if <-others; err != nil {
		return err
	}
	batch := make([]wamble.Board, 0, restoreBatch)
	said, n := time.Now(), 0
	for b, err := range rt.o.Store.LiveBoards(ctx, rt.o.Config.Name, rt.o.Shard.Index) {
		if err != nil {
			return fmt.Errorf("read the boards: %w", err)
		}
		if batch = append(batch, b); len(batch) == restoreBatch {
			if err := l.restoreBoards(ctx, rt, batch); err != nil {
				return err
			}
			n += len(batch)
			batch = batch[:0]
		}
		if time.Since(said) > time.Second {
			said = time.Now()
			rt.stage.set(fmt.Sprintf("restoring the boards: %d so far", n))
			rt.o.Log.Info("restoring the boards", "so far", n)
		}
	}
	if err := l.restoreBoards(ctx, rt, batch); err != nil {
		return err
	}
	l.prepare(&profile.Ready{})
	return nil
}

// firstNumbers is how many numbers of a sequence a start leases: more than a loop can use until the next
// lease arrives. The store counts out each number, and other starting profiles wait meanwhile.
const firstNumbers = 2048

// supply leases the numbers that the last step asked for, at most firstNumbers of each sequence.
func (l *life) supply(ctx context.Context, rt *Runtime) error {
	wanted := slices.Clone(l.out.Leases)
	for i := range wanted {
		wanted[i].Count = min(wanted[i].Count, firstNumbers)
	}
	leased, err := rt.freshLeases(ctx, wanted)
	if err != nil {
		return fmt.Errorf("lease numbers: %w", err)
	}
	for _, in := range leased {
		l.prepare(in)
	}
	return nil
}

// prepare runs a step before a loop leads the life, and collects the leases that it asks for.
func (l *life) prepare(inputs ...profile.Input) {
	l.step(inputs...)
	l.leases = append(l.leases, l.out.Leases...)
}

func (l *life) restoreBoards(ctx context.Context, rt *Runtime, boards []wamble.Board) error {
	holders, err := rt.holders(ctx, boards, l.profile.TermsHash())
	if err != nil {
		return fmt.Errorf("read who holds the boards: %w", err)
	}
	predicted, err := rt.predicted(ctx, boards)
	if err != nil {
		return fmt.Errorf("read what is predicted: %w", err)
	}
	inputs := make([]profile.Input, 0, 2*len(boards))
	for i := range boards {
		inputs = append(inputs, &profile.RestoreBoard{Board: boards[i], Predictions: predicted[boards[i].ID]})
		if holders[i] != nil {
			inputs = append(inputs, holders[i])
		}
	}
	l.prepare(inputs...)
	for _, trouble := range l.out.Troubles {
		rt.o.Log.Warn("a stored board is damaged", "err", trouble)
	}
	return nil
}

// predicted reads the predictions of boards. Most boards have none.
func (rt *Runtime) predicted(ctx context.Context, boards []wamble.Board) (map[wamble.BoardID][]wamble.Prediction, error) {
	ids := make([]wamble.BoardID, len(boards))
	for i := range boards {
		ids[i] = boards[i].ID
	}
	all, err := rt.o.Store.Predictions(ctx, ids...)
	found := map[wamble.BoardID][]wamble.Prediction{}
	for _, p := range all {
		found[p.Board] = append(found[p.Board], p)
	}
	return found, err
}

// holders returns for each board the session that holds it, with its identity and its acceptance of the
// terms; nil if the holder is not stored.
func (rt *Runtime) holders(ctx context.Context, boards []wamble.Board, terms [32]byte) ([]*profile.RestoreSession, error) {
	var ids []wamble.SessionID
	for i := range boards {
		if h := boards[i].Holder; h != nil {
			ids = append(ids, h.Session)
		}
	}
	if ids == nil {
		return make([]*profile.RestoreSession, len(boards)), nil
	}
	stored, err := rt.o.Store.Holders(ctx, ids, rt.o.Config.Name, terms)
	if err != nil {
		return nil, err
	}
	of := make(map[wamble.SessionID]*profile.RestoreSession, len(stored))
	for _, h := range stored {
		of[h.ID] = &profile.RestoreSession{Session: h.Session, Answer: &profile.Answer{Player: h.Player, Accepted: h.Accepted}}
	}
	found := make([]*profile.RestoreSession, len(boards))
	for i := range boards {
		if h := boards[i].Holder; h != nil {
			found[i] = of[h.Session]
		}
	}
	return found, nil
}
