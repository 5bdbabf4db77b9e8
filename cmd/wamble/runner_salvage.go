package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

func runnerSalvageCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "salvage DIR",
		Short: "Take what can be read of a damaged runner to a new directory",
		Long: `Take what can be read of a stopped runner that is damaged to a directory that
does not exist yet. The damaged one stays as it is.

What was committed before the damaged place of a log is taken over. What came
after it is lost, and the command says how much that is. 'wamble runner restore'
then puts the new directory in the place of the damaged one.`,
		Example: `  wamble runner salvage --dir /var/lib/wamble/journal /var/lib/wamble/salvaged
  wamble runner restore --dir /var/lib/wamble/journal --overwrite /var/lib/wamble/salvaged`,
		Args: oneArg("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := f.path()
			if err != nil {
				return err
			}
			if err := isDir(dir); err != nil {
				return fmt.Errorf("%w\nName the runner's directory with --dir", err)
			}
			if err := workAsOwner(dir); err != nil {
				return err
			}
			loss, err := pebblestore.At(dir, pebblestore.Options{}).Salvage(args[0])
			switch {
			case errors.Is(err, runner.ErrLocked):
				return inUseError{dir: dir}
			case err != nil:
				return err
			case f.json:
				return printJSON(cmd.OutOrStdout(), loss)
			case loss.Missing > 0:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the log in %s ends too early: %d acknowledged writes are lost, the others are in %s\n"+
					"To go on with it: wamble runner restore --dir %s --overwrite %s\n", dir, loss.Missing, args[0], dir, args[0])
				return err
			case loss.Log == "":
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is not damaged; %s is a copy\n", dir, args[0])
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"%s is damaged at byte %d of %d: what was committed before is in %s, what came after is lost, with %d later logs\n"+
					"To go on with it: wamble runner restore --dir %s --overwrite %s\n",
				loss.Log, loss.At, loss.Size, args[0], len(loss.Later), dir, args[0])
			return err
		},
	}
}
