package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"wamble"
	"wamble/internal/profile"
	"wamble/internal/store"
)

// life is a profile from its restoring out of the store until it ends, or until
// the journal fails and it must be made anew. What belongs to one life never
// reaches the next: its mail and its journal end with it.
type life struct {
	profile *profile.Profile
	commit  *groupCommit
	mail    *mail
	out     profile.Output
	record  *recording // nil: it is not recorded
	failure chan error // of the journal; holds the first
}

// newLife returns a profile that has restored nothing yet.
func (rt *runtime) newLife() (*life, error) {
	o := profile.Options{Config: rt.help.introduced(rt.cfg.Load()), Now: time.Now()}
	if _, err := rand.Read(o.Seed[:]); err != nil {
		return nil, fmt.Errorf("entropy: %w", err)
	}
	return rt.lifeOf(o, profile.New(o))
}

// lifeOf is the life of a profile that was made with these options.
func (rt *runtime) lifeOf(o profile.Options, p *profile.Profile) (*life, error) {
	var record *recording
	if rt.tape.file != "" {
		var err error
		if record, err = rt.tape.next(o, rt.log); err != nil {
			return nil, err
		}
	}
	drain := rt.drain.Load()
	l := &life{
		record:  record,
		profile: p,
		commit:  newGroupCommit(rt.runner, drain.Worker()),
		mail:    newMail(rt.wake),
		failure: make(chan error, 1),
	}
	l.commit.durable = func(p progress) {
		l.mail.durable(p.gate, p.seq)
		drain.Posted(p.messages)
		rt.pace.posted.Add(uint64(p.frames))
	}
	l.commit.failed = l.fail
	return l, nil
}

// fail ends the life: the profile decides nothing more.
func (l *life) fail(err error) {
	select {
	case l.failure <- err:
		l.mail.post(profile.Input{Kind: profile.JournalFailed})
	default:
	}
}

// tell runs one step and records it.
func (l *life) tell(now time.Time, inputs []profile.Input) {
	l.profile.Step(now, inputs, &l.out)
	l.record.step(now, inputs, &l.out)
}

// step is one step outside of the loop. Its frames are held by the journal.
func (l *life) step(inputs ...profile.Input) {
	l.tell(time.Now(), inputs)
	l.commit.put(&l.out.Frames, l.out.Gate, false)
}

const (
	restoreBatch   = 256 // boards per step
	restoreReaders = 4   // sessions that are read at once
)

// restore brings everything into the profile that the store has of it: the
// boards that are not archived, those who hold one, and numbers for new rows.
func (l *life) restore(ctx context.Context, rt *runtime) error {
	l.step(rt.help.restrictions.Inputs()...)
	for _, wish := range append([]profile.Lease(nil), l.out.Leases...) {
		blocks, err := rt.store.Lease(ctx, wish.Sequence, wish.Count)
		if err != nil {
			return fmt.Errorf("lease numbers: %w", err)
		}
		l.step(profile.Input{Kind: profile.Leased, Sequence: wish.Sequence, Blocks: blocks})
	}
	batch := make([]wamble.Board, 0, restoreBatch)
	for b, err := range rt.store.LiveBoards(ctx, rt.name) {
		if err != nil {
			return fmt.Errorf("read the boards: %w", err)
		}
		if batch = append(batch, b); len(batch) == restoreBatch {
			if err := l.restoreBoards(ctx, rt, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := l.restoreBoards(ctx, rt, batch); err != nil {
		return err
	}
	l.step(profile.Input{Kind: profile.Ready})
	return nil
}

func (l *life) restoreBoards(ctx context.Context, rt *runtime, boards []wamble.Board) error {
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
		inputs = append(inputs, profile.Input{Kind: profile.RestoreBoard, Board: &boards[i], Answer: predicted[boards[i].ID]})
		if holders[i].Session != nil {
			inputs = append(inputs, holders[i])
		}
	}
	l.step(inputs...)
	for _, trouble := range l.out.Troubles {
		rt.log.Warn("a stored board is damaged", "err", trouble)
	}
	return nil
}

// predicted reads what is predicted of boards: nothing of most of them.
func (rt *runtime) predicted(ctx context.Context, boards []wamble.Board) (map[wamble.BoardID]*profile.Answer, error) {
	ids := make([]wamble.BoardID, len(boards))
	for i := range boards {
		ids[i] = boards[i].ID
	}
	all, err := rt.store.Predictions(ctx, ids...)
	found := map[wamble.BoardID]*profile.Answer{}
	for _, p := range all {
		if found[p.Board] == nil {
			found[p.Board] = &profile.Answer{}
		}
		found[p.Board].Predictions = append(found[p.Board].Predictions, p)
	}
	return found, err
}

// holders reads the sessions that hold boards, some at once, and what goes with
// them. A holder who is not stored has no session.
func (rt *runtime) holders(ctx context.Context, boards []wamble.Board, terms [32]byte) ([]profile.Input, error) {
	found := make([]profile.Input, len(boards))
	errs := make([]error, restoreReaders)
	var readers sync.WaitGroup
	for r := range restoreReaders {
		readers.Go(func() {
			for i := r; i < len(boards) && errs[r] == nil; i += restoreReaders {
				if boards[i].Holder == nil {
					continue
				}
				s, err := rt.store.SessionByID(ctx, boards[i].Holder.Session)
				if err == nil {
					found[i] = profile.Input{Kind: profile.RestoreSession, Session: &s}
					found[i].Answer, err = rt.about(ctx, s, rt.name, terms)
				}
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					errs[r] = err
				}
			}
		})
	}
	readers.Wait()
	return found, errors.Join(errs...)
}
