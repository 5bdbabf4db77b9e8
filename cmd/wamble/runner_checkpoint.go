package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wamble/runner"
)

func runnerCheckpointCommand(f *runnerFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Copy a stopped runner to a new directory",
		Long: `Copy a stopped runner, whole and consistent, to a directory that does not
exist yet. 'wamble runner restore' takes it back.`,
		Example: "  wamble runner checkpoint /var/backups/wamble-journal",
		Args:    oneArg("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.read(func(r *runner.Runner) error {
				if err := r.Checkpoint(args[0]); err != nil {
					return err
				}
				return f.printDone(cmd, r, "checkpoint of journal %s written to %s\n", r.JournalID(), args[0])
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
			if err := runner.Restore(s, args[0], o); err != nil {
				return nil, err
			}
			return runner.OpenReadOnly(s, o)
		}
		r, err := openRunner(open, dir, runner.Version(f.schema))
		if err != nil {
			return err
		}
		return errors.Join(f.printDone(cmd, r, "restored %s, which is now journal %s\n", dir, r.JournalID()), r.Close())
	}
	return c
}

// printDone says what was done, or with --json what is in the runner now.
func (f *runnerFlags) printDone(cmd *cobra.Command, r *runner.Runner, format string, args ...any) error {
	if !f.json {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), format, args...)
		return err
	}
	v, err := viewStats(r)
	if err != nil {
		return err
	}
	return printJSON(cmd.OutOrStdout(), v)
}

// mayRestore refuses what would destroy something or cannot succeed.
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
