package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"wamble/internal/journal"
	"wamble/internal/profile"
)

// Profiles that share a store exchange changes of sessions and identities, which are in the journal of the
// profile that decided them. So a restart file has, for each of the other profiles, the position up to which the
// profile had received its changes, and a start reads their journals behind it.

// othersSlice is the first byte of the slice with these positions. No slice of the profile begins with it.
const othersSlice = 'n'

// seenOthers returns, as a slice, the last message of each other profile whose events this one has in its
// mailbox; nil if there are no others, or one of them is on another journal.
func (rt *Runtime) seenOthers() []byte {
	seen := map[string]uint64{}
	for _, m := range rt.o.Database.Registry.Others(rt) {
		other, ok := m.(*Runtime)
		if !ok || other.journal().Runner != rt.journal().Runner {
			return nil
		}
		if before := other.publishedBefore.Load(); before != 0 {
			seen[other.o.Name] = before - 1
		}
	}
	if len(seen) == 0 {
		return nil
	}
	text, _ := json.Marshal(seen) // by name
	return append([]byte{othersSlice}, text...)
}

// readSeenOthers decodes a slice of seenOthers.
func readSeenOthers(slice []byte) (map[string]uint64, error) {
	seen := map[string]uint64{}
	if err := json.Unmarshal(slice[1:], &seen); err != nil {
		return nil, fmt.Errorf("%w: the positions of other profiles: %w", errRestartFile, err)
	}
	return seen, nil
}

// errUnknownChanges is returned if the changes of another profile cannot be known.
var errUnknownChanges = errors.New("the restart file has no position of another profile")

// gapTries bounds how often another profile's tail is read again because its drain moved messages to the
// store meanwhile.
const gapTries = 3

// replayOthersTail gives a resumed instance the changes of other profiles behind the positions in seen.
func (rt *Runtime) replayOthersTail(ctx context.Context, seen map[string]uint64,
	step func(...profile.Input) error) error {
	for _, m := range rt.o.Database.Registry.Others(rt) {
		other, ok := m.(*Runtime)
		if !ok {
			return errUnknownChanges
		}
		after, ok := seen[other.o.Name]
		if !ok || other.journal().Runner != rt.journal().Runner {
			return fmt.Errorf("%w: %s", errUnknownChanges, other.o.Name)
		}
		worker, err := journal.WorkerOf(ctx, rt.journal().Runner, other.o.Name)
		if err != nil {
			return err
		}
		for range gapTries {
			if err = rt.replayTail(other.o.Retain.Dir, worker, after, step); !errors.Is(err, journal.ErrGap) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("profile %s: %w", other.o.Name, err)
		}
	}
	return nil
}

func (rt *Runtime) replayTail(dir string, worker uint32, after uint64, step func(...profile.Input) error) error {
	tail, size := &profile.ResumeOtherProfile{}, 0
	err := journal.Tail(rt.journal().Runner, dir, worker, after, func(_ uint64, frame []byte) error {
		tail.Frames = append(tail.Frames, frame)
		if size += len(frame); size < tailBytes {
			return nil
		}
		err := step(tail)
		tail.Frames, size = tail.Frames[:0], 0
		return err
	})
	if err != nil {
		return err
	}
	return step(tail)
}
