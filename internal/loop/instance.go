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

// instance is a profile in memory, from its restore out of the store until it ends, or until the journal fails
// and it must be made anew. Its mailbox and its group commit end with it, so nothing that belongs to one instance
// reaches the next.
type instance struct {
	profile *profile.Profile
	clock   clock
	commit  *groupCommit
	mailbox *mailbox
	out     profile.Output
	record  *tape.File      // nil if it is not recorded
	failure chan error      // of the journal; holds the first
	leases  []profile.Lease // asked for before a loop drove the instance
}

// newInstance returns an instance whose profile has restored nothing yet.
func (rt *Runtime) newInstance() (*instance, error) {
	c := newClock(time.Now())
	if rt.o.Clock.Skew != nil {
		c.advance(rt.o.Clock.Skew)
	}
	if lease := rt.journal().Lease; lease != nil {
		c.advance(lease.ClockOffset)
	}
	if rt.o.Clock.Now != nil {
		c.overrideWith(rt.o.Clock.Now)
	}
	o := profile.Options{Config: rt.o.Server.TruePorts(rt.cfg.Load()), Now: c.start, Shard: rt.o.Shard}
	if _, err := rand.Read(o.Seed[:]); err != nil {
		return nil, fmt.Errorf("entropy: %w", err)
	}
	return rt.instanceOf(o, c, profile.New(o))
}

// instanceOf returns an instance of the profile p, which was made with options o and has used the clock c so far.
func (rt *Runtime) instanceOf(o profile.Options, c clock, p *profile.Profile) (*instance, error) {
	record, err := rt.o.Record.Next(o, rt.o.Log)
	if err != nil {
		return nil, err
	}
	drain := rt.drain.Load()
	inst := &instance{
		record:  record,
		profile: p,
		clock:   c,
		commit:  newGroupCommit(rt.journal().Runner, drain.Worker()),
		mailbox: newMailbox(rt.wake),
		failure: make(chan error, 1),
	}
	inst.commit.durable = func(p progress) {
		inst.mailbox.setDurable(p.durableIndex, p.seq)
		drain.Added(p.messages)
	}
	inst.commit.failed = inst.fail
	inst.commit.last = drain.Last()
	rt.eventsInstance.Store(inst)
	return inst, nil
}

// fail ends the instance: the profile decides nothing more. Only the first error counts.
func (i *instance) fail(err error) {
	select {
	case i.failure <- err:
		i.mailbox.put(&profile.JournalFailed{})
	default:
	}
}

// runStep runs one step, which begins now, and records it.
func (i *instance) runStep(now time.Time, inputs []profile.Input) {
	at, set := i.clock.at(now)
	if set != nil {
		inputs = slices.Insert(inputs, 0, profile.Input(set))
	}
	i.profile.Step(at, inputs, &i.out)
	i.record.Step(at, inputs, &i.out)
}

// step runs one step outside of the loop, before begin: the group commit holds its frames.
func (i *instance) step(inputs ...profile.Input) {
	i.runStep(time.Now(), inputs)
	i.commit.put(&i.out.Frames, i.out.DurableIndex, false)
}

// restoreBatch is how many boards are restored in a step.
const restoreBatch = 1024

// restore loads everything of the profile from the store: the boards that are not archived, the sessions
// that hold them, and numbers for new rows.
func (i *instance) restore(ctx context.Context, rt *Runtime) error {
	i.step(rt.o.Server.Restrictions()...)
	others := make(chan struct{})
	rt.guard("the wait for other profiles", func() {
		defer close(others)
		rt.awaitOthers(ctx)
	})
	err := i.leaseNumbers(ctx, rt)
	if <-others; err != nil {
		return err
	}
	batch := make([]wamble.Board, 0, restoreBatch)
	logged, n := time.Now(), 0
	for b, err := range rt.o.Database.LiveBoards(ctx, rt.o.Config.Name, rt.o.Shard.Index) {
		if err != nil {
			return fmt.Errorf("read the boards: %w", err)
		}
		if batch = append(batch, b); len(batch) == restoreBatch {
			if err := i.restoreBoards(ctx, rt, batch); err != nil {
				return err
			}
			n += len(batch)
			batch = batch[:0]
		}
		if time.Since(logged) > time.Second {
			logged = time.Now()
			rt.stage.set(fmt.Sprintf("restoring the boards: %d so far", n))
			rt.o.Log.Info("restoring the boards", "so far", n)
		}
	}
	if err := i.restoreBoards(ctx, rt, batch); err != nil {
		return err
	}
	i.stepBeforeLoop(&profile.Ready{})
	return nil
}

// startNumbers is how many numbers of a sequence a start leases: more than a loop can use until the next
// lease arrives. The store counts out each number, and other starting profiles wait meanwhile.
const startNumbers = 2048

// leaseNumbers leases the numbers that the last step asked for, at most startNumbers of each sequence.
func (i *instance) leaseNumbers(ctx context.Context, rt *Runtime) error {
	wanted := slices.Clone(i.out.Leases)
	for i := range wanted {
		wanted[i].Count = min(wanted[i].Count, startNumbers)
	}
	leased, err := rt.freshLeases(ctx, wanted)
	if err != nil {
		return fmt.Errorf("lease numbers: %w", err)
	}
	for _, in := range leased {
		i.stepBeforeLoop(in)
	}
	return nil
}

// stepBeforeLoop runs a step before a loop drives the instance, and collects the leases that it asks for.
func (i *instance) stepBeforeLoop(inputs ...profile.Input) {
	i.step(inputs...)
	i.leases = append(i.leases, i.out.Leases...)
}

func (i *instance) restoreBoards(ctx context.Context, rt *Runtime, boards []wamble.Board) error {
	holders, err := rt.holders(ctx, boards, i.profile.TermsHash())
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
	i.stepBeforeLoop(inputs...)
	for _, trouble := range i.out.Troubles {
		rt.o.Log.Warn("a stored board is damaged", "err", trouble)
	}
	return nil
}

// predicted reads the predictions of boards. Most boards have none.
func (rt *Runtime) predicted(ctx context.Context,
	boards []wamble.Board) (map[wamble.BoardID][]wamble.Prediction, error) {
	ids := make([]wamble.BoardID, len(boards))
	for i := range boards {
		ids[i] = boards[i].ID
	}
	all, err := rt.o.Database.Predictions(ctx, ids...)
	found := map[wamble.BoardID][]wamble.Prediction{}
	for _, p := range all {
		found[p.Board] = append(found[p.Board], p)
	}
	return found, err
}

// holders returns for each board the session that holds it, with its identity and its acceptance of the
// terms; nil if the holder is not stored.
func (rt *Runtime) holders(ctx context.Context, boards []wamble.Board,
	terms [32]byte) ([]*profile.RestoreSession, error) {
	var ids []wamble.SessionID
	for i := range boards {
		if h := boards[i].Holder; h != nil {
			ids = append(ids, h.Session)
		}
	}
	if ids == nil {
		return make([]*profile.RestoreSession, len(boards)), nil
	}
	stored, err := rt.o.Database.Holders(ctx, ids, rt.o.Config.Name, terms)
	if err != nil {
		return nil, err
	}
	of := make(map[wamble.SessionID]*profile.RestoreSession, len(stored))
	for _, h := range stored {
		of[h.ID] = &profile.RestoreSession{
			Session: h.Session, Answer: &profile.Answer{Player: h.Player, Accepted: h.Accepted},
		}
	}
	found := make([]*profile.RestoreSession, len(boards))
	for i := range boards {
		if h := boards[i].Holder; h != nil {
			found[i] = of[h.Session]
		}
	}
	return found, nil
}
