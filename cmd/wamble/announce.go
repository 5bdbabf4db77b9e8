package main

import (
	"strings"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func announceCommand() *cobra.Command {
	var maintenance bool
	cmd := orderCommand(&cobra.Command{
		Use:   "announce TEXT...",
		Short: "Tell all players something",
		Long: `Announce sends a text to everybody who is present, as a notification that
clients show.`,
		Example: `  wamble announce The server is restarted at noon
  wamble announce --maintenance --profile club 'Back in five minutes'`,
		Args: someArgs("a text"),
	}, "announce", (*storeFlags).register, func(args []string) (server.Order, error) {
		return server.Order{Text: strings.Join(args, " "), Urgent: maintenance}, nil
	}, func(n uint64) string { return "told to " + plural(int(n), "player") })
	cmd.Flags().BoolVar(&maintenance, "maintenance", false, "mark it as a notice of maintenance")
	return cmd
}
