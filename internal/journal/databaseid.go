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

// DatabaseID is the database to which a profile's messages have gone so far.
type DatabaseID struct {
	Made    time.Time // when the database's schema was made, to the microsecond: identifies the database
	Journal store.JournalID
	// Base is the last message that had left the journal before the journal met this database, which has
	// only later ones.
	Base uint64
}

const databaseSize = 8 + 16 + 8

func databaseKey(profile string) []byte { return []byte("world/" + profile) }

// DatabaseOf returns the DatabaseID of a profile, and false if there is none yet.
func DatabaseOf(ctx context.Context, r *runner.Runner, profile string) (w DatabaseID, found bool, err error) {
	_, err = r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		value, err := tx.Get(databaseKey(profile))
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(value) != databaseSize {
			return fmt.Errorf("database of profile %q: %w", profile, runner.ErrFormat)
		}
		w, found = readDatabase(value), true
		return nil
	})
	return w, found, err
}

func readDatabase(value []byte) DatabaseID {
	return DatabaseID{
		Made:    time.UnixMicro(int64(binary.LittleEndian.Uint64(value))).UTC(),
		Journal: store.JournalID(value[8:24]), Base: binary.LittleEndian.Uint64(value[24:]),
	}
}

// SetDatabase records the DatabaseID of a profile; nil removes it.
func SetDatabase(ctx context.Context, r *runner.Runner, profile string, w *DatabaseID) error {
	_, err := r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		if w == nil {
			return tx.Delete(databaseKey(profile))
		}
		value := binary.LittleEndian.AppendUint64(nil, uint64(w.Made.UnixMicro()))
		value = append(value, w.Journal[:]...)
		return tx.Put(databaseKey(profile), binary.LittleEndian.AppendUint64(value, w.Base))
	})
	return err
}

// KnownDatabase is DatabaseOf for a runner that is open for reading only.
func KnownDatabase(r *runner.Runner, profile string) (w DatabaseID, found bool) {
	err := r.View(func(get func(key []byte) ([]byte, error)) error {
		value, err := get(databaseKey(profile))
		if err == nil && len(value) == databaseSize {
			w, found = readDatabase(value), true
		}
		return err
	})
	return w, found && err == nil
}
