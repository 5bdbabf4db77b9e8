package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/tape"
)

func replayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a recorded profile again and tell the first difference",
		Long: `Replay reads a recording of a profile (what it was told, step by step, and a
digest of what it answered), runs it again, and compares. The same inputs give
the same outputs byte for byte, so a difference is a bug, or the recording was
made by another version.

It prints how many steps were the same. The exit code is 1 when one differs or
the file is damaged; a recording that breaks off, because the server died, is
replayed as far as it goes.

A recording holds the tokens of all players: keep it as private (mode 0600) as
the database.`,
		Example: `  wamble replay default.rec`,
		Args:    oneArg("a recording"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			steps, first, err := tape.Replay(bufio.NewReaderSize(f, 1<<20))
			switch {
			case first != nil:
				return fmt.Errorf("%s: %s", args[0], first)
			case errors.Is(err, tape.ErrBrokenOff):
				fmt.Fprintf(cmd.OutOrStdout(), "%d steps replayed exactly; then the recording breaks off\n", steps)
				return nil
			case err != nil:
				return fmt.Errorf("%s: after %d steps: %w", args[0], steps, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d steps replayed exactly\n", steps)
			return nil
		},
	}
}
