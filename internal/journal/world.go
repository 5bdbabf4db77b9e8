package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"wamble/internal/store"
	"wamble/runner"
)

// World is the database to which a profile's messages have gone so far.
type World struct {
	Made    time.Time // when the database's schema was made, to the microsecond: identifies the database
	Journal store.JournalID
	// Base is the last message that had left the journal before the journal met this database, which has
	// only later ones.
	Base uint64
}

const worldSize = 8 + 16 + 8

func worldKey(profile string) []byte { return []byte("world/" + profile) }

// WorldOf returns the World of a profile, and false if there is none yet.
func WorldOf(ctx context.Context, r *runner.Runner, profile string) (w World, found bool, err error) {
	_, err = r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		value, err := tx.Get(worldKey(profile))
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(value) != worldSize {
			return fmt.Errorf("world of profile %q: %w", profile, runner.ErrFormat)
		}
		w, found = readWorld(value), true
		return nil
	})
	return w, found, err
}

func readWorld(value []byte) World {
	return World{
		Made:    time.UnixMicro(int64(binary.LittleEndian.Uint64(value))).UTC(),
		Journal: store.JournalID(value[8:24]), Base: binary.LittleEndian.Uint64(value[24:]),
	}
}

// SetWorld records the World of a profile; nil removes it.
func SetWorld(ctx context.Context, r *runner.Runner, profile string, w *World) error {
	_, err := r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		if w == nil {
			return tx.Delete(worldKey(profile))
		}
		value := binary.LittleEndian.AppendUint64(nil, uint64(w.Made.UnixMicro()))
		value = append(value, w.Journal[:]...)
		return tx.Put(worldKey(profile), binary.LittleEndian.AppendUint64(value, w.Base))
	})
	return err
}

// KnownWorld is WorldOf for a runner that is open for reading only.
func KnownWorld(r *runner.Runner, profile string) (w World, found bool) {
	err := r.View(func(get func(key []byte) ([]byte, error)) error {
		value, err := get(worldKey(profile))
		if err == nil && len(value) == worldSize {
			w, found = readWorld(value), true
		}
		return err
	})
	return w, found && err == nil
}
