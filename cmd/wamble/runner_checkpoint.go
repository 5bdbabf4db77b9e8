package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

func runnerCheckpointCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Copy a runner, running or stopped, to a new directory",
		Long: `Copy a runner, whole and consistent, to a directory that does not exist yet. A
server that runs makes the copy itself, of one moment. 'wamble runner restore' takes
it back.`,
		Example: "  wamble runner checkpoint /var/backups/wamble-journal",
		Args:    oneArg("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.look(cmd.Context(), func(j journalClient) error {
				dir, err := filepath.Abs(args[0]) // the server has another working directory
				if err != nil {
					return err
				}
				var s runner.Stats
				if err := j.ask("runner-checkpoint", admin.CheckpointTo{Dir: dir}, &s); err != nil {
					return err
				}
				return f.printDone(cmd, j, "checkpoint of journal %s written to %s\n", s.Journal, args[0])
			})
		},
	}
}

func runnerRestoreCommand(f *runnerFlags) *cobra.Command {
	var overwrite bool
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Replace the content of a stopped runner by a checkpoint",
		Long: `Replace the content of a stopped runner by the checkpoint in DIR, which stays
as it is. A runner that has content is replaced only with --overwrite; what it
had is gone then. The runner may be broken: that is what this is for.

The restored runner has a new journal id, so that nobody mistakes the numbers
of its new messages for those of the lost ones.`,
		Example: `  wamble runner restore /var/backups/wamble-journal
  wamble runner restore --dir /var/lib/wamble/journal --overwrite /var/backups/wamble-journal`,
		Args: oneArg("a directory"),
	}
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace a runner that has content")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := f.path()
		if err != nil {
			return err
		}
		if err := mayRestore(dir, args[0], overwrite); err != nil {
			return err
		}
		open := func(s runner.Storage, o runner.Options) (*runner.Runner, error) {
			o.EndLeases = true // the holders of leases are gone
			if err := runner.Restore(s, args[0], o); err != nil {
				return nil, err
			}
			return runner.OpenReadOnly(s, o)
		}
		r, err := f.openRunner(open, dir)
		if err != nil {
			return err
		}
		return errors.Join(f.printDone(cmd, openedJournal(cmd.Context(), r), "restored %s, which is now journal %s\n",
			dir, r.JournalID()), r.Close())
	}
	return c
}

// printDone prints what was done, or with --json the statistics of the runner.
func (f *runnerFlags) printDone(cmd *cobra.Command, j journalClient, format string, args ...any) error {
	if !f.json {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
		return err
	}
	v, err := viewStats(j)
	if err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), v)
}

// mayRestore returns an error if a restore would destroy data or cannot succeed.
func mayRestore(dir, checkpoint string, overwrite bool) error {
	if err := isDir(checkpoint); err != nil {
		return fmt.Errorf("no checkpoint: %w", err)
	}
	here, err := os.Stat(checkpoint)
	if err != nil {
		return err
	}
	if there, err := os.Stat(dir); err == nil && os.SameFile(here, there) {
		return fmt.Errorf("%s cannot be restored from itself", dir)
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0 && !overwrite:
		return fmt.Errorf("%s is not empty; --overwrite replaces it", dir)
	}
	return nil
}

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
