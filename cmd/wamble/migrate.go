package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/server"
	"wamble/internal/store/schema"
)

func migrateCommand() *cobra.Command {
	var flags storeFlags
	var plan bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the databases to the schema of this binary",
		Long: `Migrate brings the database of every profile that runs to the newest schema,
step by step, each in a transaction of its own. The server does the same when it
starts; use this to do it at a time of your choosing. A database with the first schema
of the original Wamble (its migration 001 of 2025-09-25, alone) is adopted with all its
rows, in one transaction. One with an older or a later schema of the original is
refused unchanged: 'wamble import' brings its rows to a new database.

Two processes may migrate at once. A database that is newer than this binary is
left alone, and so is one on which a server runs that could not go on after the
migration: stop that server first.

With --plan nothing is written: the steps to come are printed, and which of them an
older wamble could not go on after.`,
		Example: `  wamble migrate --plan
  wamble migrate
  wamble migrate --config /etc/wamble.conf --profile club`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stores, err := flags.open(cmd, !plan)
			if err != nil {
				return err
			}
			defer server.CloseStores(stores)
			for _, s := range stores {
				if plan {
					if err := planMigration(cmd, s); err != nil {
						return fmt.Errorf("%s: %w", s.Name, err)
					}
					continue
				}
				if err := migrate(cmd, s); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return nil
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&plan, "plan", false, "only say what would be done")
	return cmd
}

// planMigration prints the pending migrations of a store.
func planMigration(cmd *cobra.Command, s *server.SharedStore) error {
	st, err := s.Status(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s (%s): schema %d of %d\n", s.Name, strings.Join(s.Profiles, ", "), st.Version, st.Latest)
	switch {
	case st.Refused() != nil:
		return st.Refused()
	case st.Adopt:
		fmt.Fprintln(out, "  made by the original Wamble: it is adopted with all its rows, in one transaction")
	case st.Version > st.Latest:
		fmt.Fprintln(out, "  nothing to do: it is newer than this binary, which can use it")
	case len(st.Pending) == 0:
		fmt.Fprintln(out, "  nothing to do")
	}
	for _, name := range st.Pending {
		what := "additive: a wamble that does not know it can go on"
		if slices.Contains(st.Breaks, name) {
			what = "NOT additive: stop older servers first, and back up; an older wamble cannot go on after it"
		}
		fmt.Fprintf(out, "  %s  %s\n", name, what)
	}
	return nil
}

func migrate(cmd *cobra.Command, s *server.SharedStore) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s (%s)\n", s.Name, strings.Join(s.Profiles, ", "))
	steps := 0
	err := s.MigrateAlone(cmd.Context(), func(step schema.Step) {
		if step.Done {
			steps++
			fmt.Fprintf(out, "  %s done in %v\n", step.Name, step.Elapsed.Round(time.Millisecond))
		} else if step.Elapsed > 0 {
			fmt.Fprintf(out, "  %s … %v\n", step.Name, step.Elapsed.Round(time.Second))
		}
	})
	if err == nil && steps == 0 {
		fmt.Fprintln(out, "  nothing to do")
	}
	return err
}
