package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"wamble/internal/journal"
	"wamble/internal/profile"
)

// Profiles that share a store change each other's sessions and identities by news,
// which are in the journal of the one that decided. So a restart file says how far the
// profile had heard the others, and a start looks into their journals behind that.

// othersSlice is the first byte of the slice that says so. It is none of the profile's.
const othersSlice = 'n'

// heardOthers returns the messages of other profiles up to which this one has their
// news in its mail, as a slice; nil if somebody's are not in this journal.
func (rt *Runtime) heardOthers() []byte {
	if rt.o.Registry == nil {
		return nil
	}
	heard := map[string]uint64{}
	for _, m := range rt.o.Registry.Others(rt) {
		other, ok := m.(*Runtime)
		if !ok || other.journal().Runner != rt.journal().Runner {
			return nil
		}
		if told := other.told.Load(); told != 0 {
			heard[other.o.Name] = told - 1
		}
	}
	if len(heard) == 0 {
		return nil
	}
	text, _ := json.Marshal(heard) // by name
	return append([]byte{othersSlice}, text...)
}

// readHeard reads what heardOthers wrote.
func readHeard(slice []byte) (map[string]uint64, error) {
	heard := map[string]uint64{}
	if err := json.Unmarshal(slice[1:], &heard); err != nil {
		return nil, fmt.Errorf("%w: what it heard of other profiles: %w", errRestartFile, err)
	}
	return heard, nil
}

// errNotHeard is returned when nobody knows what another profile has changed.
var errNotHeard = errors.New("the restart file does not say how far it had heard another profile")

// gapTries is how often the messages of another profile are read that has begun to
// bring them to the store.
const gapTries = 3

// tellOthersTail tells a life that comes back what others have decided behind what it
// had heard.
func (rt *Runtime) tellOthersTail(ctx context.Context, heard map[string]uint64, step func(...profile.Input) error) error {
	for _, m := range rt.o.Registry.Others(rt) {
		other, ok := m.(*Runtime)
		if !ok {
			return errNotHeard
		}
		after, ok := heard[other.o.Name]
		if !ok || other.journal().Runner != rt.journal().Runner {
			return fmt.Errorf("%w: %s", errNotHeard, other.o.Name)
		}
		worker, err := journal.WorkerOf(ctx, rt.journal().Runner, other.o.Name)
		if err != nil {
			return err
		}
		for range gapTries {
			if err = rt.tellTail(other.o.Keep.Dir, worker, after, step); !errors.Is(err, journal.ErrGap) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("profile %s: %w", other.o.Name, err)
		}
	}
	return nil
}

func (rt *Runtime) tellTail(dir string, worker uint32, after uint64, step func(...profile.Input) error) error {
	tail, size := &profile.ResumeElsewhere{}, 0
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
