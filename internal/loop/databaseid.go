package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/internal/journal"
	"wamble/internal/store"
)

// ErrOtherDatabase is returned when the database is not the one to which the journal was drained.
var ErrOtherDatabase = errors.New("this is not the database of this journal")

// ForgetDatabase removes from the journal which database has the profile's games: the host moves the profile
// to another one on purpose.
func (rt *Runtime) ForgetDatabase(ctx context.Context) error {
	return journal.SetDatabase(ctx, rt.journal().Runner, rt.o.Name, nil)
}

// checkDatabase refuses a database without the profile's games: an empty one in the place of a deleted file,
// or the wrong one. Served as a new database, it would make the old games seem lost.
func (rt *Runtime) checkDatabase(ctx context.Context) error {
	st, err := rt.o.Database.Status(ctx)
	if err != nil {
		return err
	}
	if err := st.Unfinished(); err != nil {
		return fmt.Errorf("%w: %w", ErrOtherDatabase, err)
	}
	known, found, err := journal.DatabaseOf(ctx, rt.journal().Runner, rt.o.Name)
	if err != nil || !found {
		return err
	}
	is := "is empty"
	if st.Version > 0 {
		is = "was made " + st.Made.Format(time.DateTime+" MST")
	}
	if st.Version > 0 && st.Made.Equal(known.Made) {
		return nil
	}
	return fmt.Errorf("%w: %s %s, but the games of profile %s went into one that was made %s. "+
		"If a file was deleted, or a name or address is wrong, put it right. "+
		"To begin anew with this database, stop the server and move the journal away from the data directory: "+
		"what only the journal has (%d messages) is not played on then", ErrOtherDatabase, rt.o.Database.Name, is,
		rt.o.Name,
		known.Made.Format(time.DateTime+" MST"), rt.undrained(ctx))
}

// undrained returns how many messages of the profile only the journal has. It needs no drain.
func (rt *Runtime) undrained(ctx context.Context) (n uint64) {
	id, err := journal.WorkerOf(ctx, rt.journal().Runner, rt.o.Name)
	for _, in := range rt.journal().Runner.Stats().Inboxes {
		if err == nil && in.Worker == uint64(id) {
			n = in.Depth
		}
	}
	return n
}

// recordDatabase records in the journal which database has the profile's games from now on.
func (rt *Runtime) recordDatabase(ctx context.Context) error {
	st, err := rt.o.Database.Status(ctx)
	if err != nil {
		return err
	}
	known, found, err := journal.DatabaseOf(ctx, rt.journal().Runner, rt.o.Name)
	if err != nil {
		return err
	}
	s := rt.journal().Runner.Stats()
	queue := rt.Queue(&s)
	now := journal.DatabaseID{
		Made: st.Made, Journal: store.JournalID(rt.journal().Runner.JournalID()),
		Base: queue.NextSeq - 1 - queue.Depth,
	}
	if queue.NextSeq == 0 {
		now.Base = 0
	}
	if found && known.Journal == now.Journal {
		return nil
	}
	if err := journal.SetDatabase(ctx, rt.journal().Runner, rt.o.Name, &now); err != nil {
		return err
	}
	rt.drain.Load().SetBase(now.Base)
	return nil
}
