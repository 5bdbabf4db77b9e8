package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// prepareStore waits until the store answers, takes ownership of the profile in it, and migrates it. Stage
// is what /readyz shows meanwhile.
func (rt *Runtime) prepareStore(ctx context.Context, stage string) error {
	return rt.retry(ctx, stage, func() error {
		// Of a database that cannot be used nothing is changed, not even its owner.
		if st, err := rt.o.Database.Status(ctx); err != nil {
			return err
		} else if err := st.Refused(); err != nil {
			return err
		}
		if err := rt.acquireOwnership(ctx); err != nil {
			return err
		}
		if err := rt.checkDatabase(ctx); err != nil {
			return err
		}
		if err := rt.migrate(ctx, func(name string) { rt.stage.set("migrating the database: " + name) }); err != nil {
			return err
		}
		if err := rt.checkShards(ctx); err != nil {
			return err
		}
		return rt.checkSeparateStore(ctx)
	})
}

// migrate brings the schema to the newest version, and calls begins for each step. It refuses while another
// server that could not use the new schema runs on the database.
func (rt *Runtime) migrate(ctx context.Context, begins func(name string)) error {
	if err := MayMigrate(ctx, rt.o.Database.Store, 0, rt.isSelf); err != nil {
		return err
	}
	return rt.o.Database.Migrate(ctx, func(step schema.Step) {
		if step.Done {
			rt.o.Log.Info("migrated", "store", rt.o.Database.Name, "step", step.Name, "took", step.Elapsed)
			return
		}
		begins(step.Name)
	})
}

// migrateBeside migrates the store while players are served, after a handoff: the previous process could
// not have used the new schema. The store counts as away until that is done. Play goes on whatever the error.
func (rt *Runtime) migrateBeside(ctx context.Context) {
	var last reminder
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := rt.migrate(ctx, func(name string) {
			rt.o.Log.Info("migrating the database; play goes on", "store", rt.o.Database.Name, "step", name)
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		rt.watch.suspect(err)
		if !errors.Is(err, store.ErrTransient) && last.due(time.Now()) {
			rt.o.Log.Error("the database cannot be migrated; play goes on, and what is decided stays in the journal",
				"store", rt.o.Database.Name, "err", err)
		}
		sleep(ctx, pause)
	}
}

// retry calls try until it succeeds or returns an error that is not transient.
func (rt *Runtime) retry(ctx context.Context, what string, try func() error) error {
	var last reminder
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		rt.stage.set(what)
		err := try()
		var wrong *store.Unusable
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, store.ErrTransient), errors.As(err, &wrong):
			return fmt.Errorf("%s: %w", what, err)
		}
		rt.stage.stuck(what + ": " + err.Error())
		if last.due(time.Now()) {
			rt.o.Log.Warn(what, "store", rt.o.Database.Name, "err", err)
		}
		sleep(ctx, pause)
	}
}
