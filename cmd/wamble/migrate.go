package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/server"
	"wamble/internal/store/schema"
)

func migrateCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the databases to the schema of this binary",
		Long: `Migrate brings the database of every profile that runs to the newest schema,
step by step, each in a transaction of its own. The server does the same when it
starts; use this to do it at a time of your choosing. A database that was made by
the original Wamble is adopted with all its rows.

Two processes may migrate at once. A database that is newer than this binary is
left alone, and so is one on which a server runs that could not go on after the
migration: stop that server first.`,
		Example: `  wamble migrate
  wamble migrate --config /etc/wamble.conf --profile club`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stores, err := flags.open(cmd, true)
			if err != nil {
				return err
			}
			defer server.CloseStores(stores)
			for _, s := range stores {
				if err := migrate(cmd, s); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}

func migrate(cmd *cobra.Command, s *server.Shared) error {
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
