package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func handoffCommand() *cobra.Command {
	var flags storeFlags
	var binary string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "handoff",
		Short: "Let the running server replace itself by a new binary, without dropping a packet",
		Long: `Handoff makes the server that runs on a data directory check the binary that is
now at its own path, or the one that is named, and become it: the process, its
sockets, boards, players and their connections stay. UDP clients do not notice;
WebSocket clients are told to come back, and resume.

The result is that of the new process. If the new binary refuses, cannot be run
or cannot take over, the old one serves on, and this command says why and fails.
SIGUSR2 does the same.`,
		Example: `  wamble handoff
  wamble handoff --data /var/lib/wamble
  wamble handoff --binary ./wamble-next`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := flags.dataDir(cmd)
			if err != nil {
				return err
			}
			if binary != "" {
				if binary, err = filepath.Abs(binary); err != nil {
					return err
				}
			}
			done, err := server.AskHandoff(cmd.Context(), dir, binary)
			if err = explainNoServer(err, dir); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), done)
			}
			var phases []string
			for _, p := range done.Phases {
				phases = append(phases, fmt.Sprintf("%s %v", p.Name, p.Took.Round(10*time.Microsecond)))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "pid %d: %s took over from %s; nothing was read for %v (%s)\n",
				done.PID, done.To, done.From, done.Frozen.Duration(), strings.Join(phases, ", "))
			return err
		},
	}
	cmd.Flags().StringVarP(&flags.config, "config", "c", "", "configuration `file` (default wamble.conf here, if there is one)")
	cmd.Flags().StringVar(&flags.data, "data", "", "data `directory` (default data-dir, else the user's state directory)")
	cmd.Flags().StringVar(&binary, "binary", "", "the `file` to become (default that of the running process)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for tools")
	return cmd
}
