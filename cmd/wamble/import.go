package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/importer"
	"wamble/internal/server"
)

func importCommand() *cobra.Command {
	var flags storeFlags
	var from, global string
	var dryRun, verify bool
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Bring the games and players of an original Wamble to a profile",
		Long: `Import reads a database of the original Wamble, of any of its schemas, and brings to
a profile of ours what is in it: players with their keys, names and ratings; sessions,
whose tokens stay valid; trust; boards in play with their moves and holders; finished
games; points; predictions; accepted terms. What is left there is told, and why. Tags and
rules that the original kept in its global database are printed as lines for the
configuration.

Nothing is changed there. Stop the original first, and the server of this data directory;
the profile's database is that of the configuration, and gets the newest schema. Give
the command again if it was interrupted: it goes on, and does nothing twice. Several
databases of the original go to a profile each, and a key is one player in all of them.
Boards and sessions get new numbers if theirs are taken.

--from and --global take what psql takes: "host=… dbname=… user=…" or postgres://…; the
password may be in PGPASSWORD or ~/.pgpass. A database after the original's migration 008
has its names, tags and trust in a global one: name it with --global, or do without by
--global none. With --dry-run nothing is written. With --verify what has arrived is then
compared with the original: counts, sums of points, and positions by replay; the exit
code is 1 if something differs.`,
		Example: `  wamble import --from "host=localhost dbname=wamble user=wamble" --dry-run
  wamble import --from "dbname=blue" --global "dbname=wamble_global" --profile blue --verify`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return see(cmd, fmt.Errorf("--from names the original's database"))
			}
			c, dir, err := flags.configured(cmd)
			if err != nil {
				return err
			}
			profile, err := flags.oneProfile(c)
			if err != nil {
				return err
			}
			source, err := importer.Open(cmd.Context(), from, global)
			if err != nil {
				return err
			}
			defer source.Close()
			out, told := cmd.OutOrStdout(), time.Now()
			fmt.Fprintf(out, "the original: %s\n", source.State)
			o := importer.Options{Profile: profile.Name, Rating: float64(profile.Scoring.DefaultRating),
				Progress: func(what string, done, all int) {
					if time.Since(told) > time.Second {
						told = time.Now()
						fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d %%\n", what, 100*done/max(all, 1))
					}
				}}
			if dryRun {
				report, err := source.Import(cmd.Context(), o)
				if err == nil {
					printImport(out, source, report, "would come")
				}
				return err
			}
			if err := workAsOwner(dir); err != nil {
				return err
			}
			if err := server.MakeDataDir(dir); err != nil {
				return err
			}
			return server.Import(cmd.Context(), c, dir, profile, func(db *server.SharedStore) error {
				o.To = db.Store
				report, err := source.Import(cmd.Context(), o)
				if err != nil {
					return fmt.Errorf("%w\nGive the command again: it goes on", err)
				}
				printImport(out, source, report, "came to "+profile.Name)
				if report.Before {
					fmt.Fprintln(out, "all of it was there already")
				}
				if !verify {
					return nil
				}
				problems, err := source.Verify(cmd.Context(), o)
				for _, p := range problems {
					fmt.Fprintln(out, "BAD  "+p)
				}
				if err == nil && len(problems) > 0 {
					return exitError(1)
				}
				if err == nil {
					fmt.Fprintln(out, "ok   counts, points and positions are those of the original")
				}
				return err
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&from, "from", "", "database of the original, as a `connection` string")
	cmd.Flags().StringVar(&global, "global", "", "its global database, as a `connection` string, or none")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would come, and what is left")
	cmd.Flags().BoolVar(&verify, "verify", false, "compare what has come with the original")
	return cmd
}

// printImport prints what has come, what is left, and the lines for the configuration.
func printImport(out io.Writer, source *importer.Source, report *importer.Report, came string) {
	for _, c := range report.Counts {
		fmt.Fprintf(out, "  %-15s %8d there, %8d %s\n", c.What, c.There, c.Here, came)
	}
	for _, l := range report.Left {
		fmt.Fprintf(out, "left: %d × %s: %s\n", l.N, l.What, l.Why)
		if l.Example != "" {
			fmt.Fprintf(out, "      such as %s\n", l.Example)
		}
	}
	if len(source.Policy) > 0 {
		fmt.Fprintln(out, "for the configuration:")
		for _, line := range source.Policy {
			fmt.Fprintln(out, "  "+line)
		}
	}
}
