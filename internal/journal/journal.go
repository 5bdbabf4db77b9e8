package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"wamble/internal/intent"
	"wamble/runner"
)

// Schema is the version of a journal's data in a runner: frames of intents, and the workers of the
// profiles. With 1.1 a process that took over could leave commits in a bridge (see package pebblestore),
// which programs of 1.0 do not read. A later minor that this program can use is declared by
// runner.Options.Needs: then machines of both releases can take over shards from each other.
var Schema = runner.Version{Major: 1, Minor: 1}

// Oldest is the oldest version that this program uses without a migration.
var Oldest = runner.Version{Major: 1, Minor: 0}

// Migrate brings a journal from an older minor to Schema. The data are the same.
func Migrate(*runner.Tx, runner.Version) error { return nil }

// Policy is that of a worker that drains a journal. Its retry budget never ends, because an answered
// message must reach the store however often the process dies.
var Policy = runner.Policy{LeaseTTL: time.Minute, RetryBudget: math.MaxInt32}

// messageID is the id of every message: the journal tells them apart by number.
var messageID = []byte{'i'}

// messageTo returns a message to a worker with a frame of intents, which is not copied.
func messageTo(worker uint32, frame []byte) runner.Message {
	return runner.Message{
		Kind: runner.Command, Flags: runner.Durable, To: uint64(worker), ID: messageID, Payload: frame,
	}
}

// Add adds a frame to a group, which is committed as a whole.
func Add(g *runner.Group, worker uint32, frame []byte) error {
	m := messageTo(worker, frame)
	return g.Add(&m)
}

// Post writes intents to the journal as one message, and returns its number when it is durable. It is for
// tools and tests; a profile uses groups.
func Post(ctx context.Context, r *runner.Runner, worker uint32, intents ...intent.Intent) (uint64, error) {
	frame := Begin(nil)
	for _, in := range intents {
		frame = Append(frame, in)
	}
	m := messageTo(worker, frame)
	row, err := r.Post(ctx, &m)
	return row.Seq, err
}

// DecodeMessage decodes the intents of a message of the journal, for tools. Errors: ErrFrame, also for a
// message of another kind.
func DecodeMessage(m *runner.Message) ([]intent.Intent, error) {
	if !bytes.Equal(m.ID, messageID) {
		return nil, fmt.Errorf("%w: the message is not of a profile's journal", ErrFrame)
	}
	return Decode(m.Payload)
}

// NumberOf returns the number of a profile's worker, if it has one.
func NumberOf(r *runner.Runner, profile string) (id uint32, ok bool) {
	err := r.View(func(get func(key []byte) ([]byte, error)) error {
		value, err := get([]byte("profile/" + profile))
		if err == nil && len(value) == 4 {
			id, ok = binary.LittleEndian.Uint32(value), true
		}
		return err
	})
	return id, ok && err == nil
}

// manyProfiles is for transactions on the numbers of profiles. At the first start all profiles get their numbers at
// once: every round of conflicts lets one of them through, so each needs as many attempts as there are profiles at most
// (config allows 1000).
var manyProfiles = runner.AttemptPolicy{Retries: 1 << 12}

// WorkerOf returns the number of a profile's worker, which is the next free number for a new profile. It
// stays the same for the life of the journal.
func WorkerOf(ctx context.Context, r *runner.Runner, profile string) (uint32, error) {
	key, count := []byte("profile/"+profile), []byte("profiles")
	var id uint32
	_, err := r.Update(ctx, manyProfiles, func(tx *runner.Tx) error {
		known, err := readUint32(tx, key)
		if err != nil || known != 0 {
			id = known
			return err
		}
		last, err := readUint32(tx, count)
		if err != nil {
			return err
		}
		id = last + 1
		value := binary.LittleEndian.AppendUint32(nil, id)
		return errors.Join(tx.Put(key, value), tx.Put(count, value))
	})
	if err != nil {
		return 0, fmt.Errorf("number of profile %q in the journal: %w", profile, err)
	}
	return id, nil
}

// Used reports whether profiles have written to a runner's journal.
func Used(r *runner.Runner) bool {
	err := r.View(func(get func(key []byte) ([]byte, error)) error {
		_, err := get([]byte("profiles"))
		return err
	})
	return err == nil
}

// Workers returns the numbers of all profiles that have written to the journal, by name.
func Workers(ctx context.Context, r *runner.Runner) (map[string]uint32, error) {
	var workers map[string]uint32
	_, err := r.Update(ctx, manyProfiles, func(tx *runner.Tx) error {
		workers = map[string]uint32{}
		prefix := []byte("profile/")
		return tx.Range(prefix, []byte("profile0"), func(key, value []byte) bool { // '0' follows '/'
			if len(value) == 4 {
				workers[string(key[len(prefix):])] = binary.LittleEndian.Uint32(value)
			}
			return true
		})
	})
	if err != nil {
		return nil, fmt.Errorf("profiles of the journal: %w", err)
	}
	return workers, nil
}

// ShardsOf returns how many shards a profile had when it last ran, 1 if unknown.
func ShardsOf(r *runner.Runner, profile string) int {
	n := 1
	err := r.View(func(get func(key []byte) ([]byte, error)) error {
		value, err := get([]byte("shards/" + profile))
		if err == nil && len(value) == 4 {
			n = int(binary.LittleEndian.Uint32(value))
		}
		return err
	})
	if err != nil {
		return 1
	}
	return n
}

// SetShards records how many shards a profile has.
func SetShards(ctx context.Context, r *runner.Runner, profile string, n int) error {
	if ShardsOf(r, profile) == n {
		return nil
	}
	_, err := r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		return tx.Put([]byte("shards/"+profile), binary.LittleEndian.AppendUint32(nil, uint32(n)))
	})
	return err
}

// readUint32 returns 0 for a missing key.
func readUint32(tx *runner.Tx, key []byte) (uint32, error) {
	value, err := tx.Get(key)
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(value) != 4:
		return 0, fmt.Errorf("%q: %w", key, runner.ErrFormat)
	}
	return binary.LittleEndian.Uint32(value), nil
}

// Undrained returns how many messages a profile has in the journal. It needs no drain.
func Undrained(ctx context.Context, r *runner.Runner, profile string) (uint64, error) {
	workers, err := Workers(ctx, r)
	if err != nil {
		return 0, err
	}
	for _, in := range r.Stats().Inboxes {
		if worker, ok := workers[profile]; ok && in.Worker == uint64(worker) {
			return in.Depth, nil
		}
	}
	return 0, nil
}
