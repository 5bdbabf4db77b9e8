package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func shardsCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "shards N",
		Short: "Change how many loops serve a profile, while the server is stopped",
		Long: `Shards changes the number of shards of a world that has boards: the loops that
serve a profile, each on a core of its own. A new world has as many as the option
shards says; after that a server with another number does not start.

Stop the server in order first, so that the database has everything. Boards that are
held become free; nothing else changes for players, and bans, brown-outs and announcements
stay. What was interrupted is completed by the same command again. Then set the option
shards to the same number, and start the server.`,
		Example: `  wamble shards 4
  wamble shards 8 --config /etc/wamble.conf --profile club`,
		Args: oneArg("a number of shards"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return see(cmd, fmt.Errorf("%q is not a number of shards", args[0]))
			}
			c, dir, err := flags.configured(cmd)
			if err != nil {
				return err
			}
			of, err := flags.oneProfile(c)
			if err != nil {
				return err
			}
			if err := workAsOwner(dir); err != nil {
				return err
			}
			if err := server.Reshard(cmd.Context(), c, dir, of, n); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "profile %s has %s: set (def shards %d), and start the server\n",
				of.Name, plural(n, "shard"), n)
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}
