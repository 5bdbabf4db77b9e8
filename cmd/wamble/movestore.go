package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/server"
)

func moveStoreCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "move-store NEW.conf",
		Short: "Move the games between SQLite and PostgreSQL, while the server is stopped",
		Long: `Move-store copies the games of every profile whose database is another one in a new
configuration: from SQLite to PostgreSQL, or from PostgreSQL to SQLite. Copy your
configuration to NEW.conf and change its options db-* there.

Stop the server in order first, so that the database has everything. The new database
must be empty. If the command is interrupted, give it again: it goes on. No server
starts with the new database before it is complete. At the end all rows of both are
compared, and all games replayed; then start the server with NEW.conf. Nothing changes
in the old database, so that you can go back as long as nobody has played.

Between two databases of PostgreSQL use pg_dump.`,
		Example: `  cp /etc/wamble/wamble.conf /etc/wamble/new.conf
  wamble move-store /etc/wamble/new.conf`,
		Args: oneArg("a configuration file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			was, dir, err := flags.configured(cmd)
			if err != nil {
				return err
			}
			name, text, err := readConfig(args[0])
			if err != nil {
				return err
			}
			next, err := config.Load(name, text, config.Params{Getenv: os.Getenv})
			if err := printLoaded(cmd, next, err); err != nil {
				return err
			}
			if next.Server.DataDir != was.Server.DataDir {
				return fmt.Errorf("data-dir is %q in %s, and %q now: both must be the same", next.Server.DataDir, args[0],
					was.Server.DataDir)
			}
			if err := workAsOwner(dir); err != nil {
				return err
			}
			moved, err := server.MoveStores(cmd.Context(), was, next, dir, progressLine(cmd.ErrOrStderr()))
			for i := range moved {
				printMoved(cmd, &moved[i])
			}
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "moved in %v. Start the server with %s, which changes these options:\n",
				time.Since(began).Round(time.Millisecond), args[0])
			for _, c := range config.Diff(was, next) {
				if strings.HasPrefix(c.What, "db-") || c.What == "store" {
					fmt.Fprintf(out, "  profile %s: %s %s → %s\n", c.Profile, c.What, c.Old, c.New)
				}
			}
			return nil
		},
	}
	flags.registerData(cmd)
	return cmd
}

// printMoved prints what a move has checked.
func printMoved(cmd *cobra.Command, m *server.MovedStore) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s → %s (%s)\n", m.From, m.To, strings.Join(m.Profiles, ", "))
	if m.Tables == nil {
		fmt.Fprintln(out, "ok   it was moved before")
		return
	}
	for _, table := range slices.Sorted(maps.Keys(m.Tables)) {
		sum := m.Tables[table]
		if sum.Rows == 0 {
			continue
		}
		fmt.Fprintf(out, "ok   %s: %s", table, plural(int(sum.Rows), "equal row"))
		for _, column := range slices.Sorted(maps.Keys(sum.Sums)) {
			fmt.Fprintf(out, ", %s %.4f", column, float64(sum.Sums[column])/1e4)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "ok   %s\n", m.Games)
}
