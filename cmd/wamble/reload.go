package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func reloadCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Let the running server read its configuration again",
		Long: `Reload lets the server read its configuration file again and run with it, as
SIGHUP does, and says what has changed.

Profiles go on with their players where they can: a profile that is untouched
notices nothing, a port that stays in use is never closed, and a profile whose
database changes is brought to the old one first. A configuration with a mistake,
or one that cannot be reached without a handoff or a restart, changes nothing; the
exit code is 1 then.`,
		Example: `  wamble reload
  wamble reload --data /var/lib/wamble`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := flags.dataDir(cmd)
			if err != nil {
				return err
			}
			var r server.Reloaded
			if err := askServer(cmd.Context(), dir, "reload", nil, &r); err != nil {
				return fmt.Errorf("the reload was refused, nothing has changed:\n%w", err)
			}
			for _, c := range r.Changes {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), c); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "reloaded in %v, %s\n", r.Took.Duration(), plural(len(r.Changes), "change"))
			return err
		},
	}
	flags.registerData(cmd)
	return cmd
}
