package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func dbCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "db",
		Short:   "Look at the databases",
		Example: "  wamble db status",
	}, dbStatusCommand())
}

func dbStatusCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how the databases stand to this binary",
		Long: `Status connects to the database of every profile that runs and prints its
server, the version of its schema, and the migrations that are to come. It writes
nothing. The exit code is 1 if a database cannot be reached, is newer than this
binary, or was made by another program.`,
		Example: `  wamble db status
  wamble db status --profile club`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stores, err := flags.open(cmd, false)
			if err != nil {
				return err
			}
			defer server.CloseStores(stores)
			var failed error
			for _, s := range stores {
				if err := printStatus(cmd, s); err != nil {
					failed = exitError(1)
					fmt.Fprintf(cmd.ErrOrStderr(), "wamble: %s: %v\n", s.Name, err)
				}
			}
			return failed
		},
	}
	flags.register(cmd)
	return cmd
}

func printStatus(cmd *cobra.Command, s *server.SharedStore) error {
	st, err := s.Status(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s (%s)\n", s.Name, strings.Join(s.Profiles, ", "))
	fmt.Fprintf(out, "  server   %s\n  schema   %d of %d\n", st.Server, st.Version, st.Latest)
	switch {
	case st.Adopt:
		fmt.Fprintln(out, "  state    made by the original Wamble; 'wamble migrate' adopts it")
	case st.Original != nil:
		fmt.Fprintln(out, "  state    made by another program; this binary cannot use it")
		return st.Refused()
	case st.Refused() != nil:
		fmt.Fprintln(out, "  state    newer than this binary")
		return st.Refused()
	case st.Version > st.Latest:
		fmt.Fprintln(out, "  state    newer than this binary, which can use it")
	case len(st.Pending) > 0:
		fmt.Fprintf(out, "  pending  %s\n", strings.Join(st.Pending, ", "))
	default:
		fmt.Fprintln(out, "  state    up to date")
	}
	return nil
}
