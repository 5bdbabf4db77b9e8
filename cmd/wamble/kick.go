package main

import (
	"github.com/spf13/cobra"

	"wamble/internal/server"
)

// whom says how commands name players.
const whom = `A player is named by his token, by his public key (64 hex digits), by his
address, or by a network like 192.0.2.0/24.`

func kickCommand() *cobra.Command {
	var reason string
	cmd := orderCommand(&cobra.Command{
		Use:   "kick WHOM",
		Short: "End sessions of players",
		Long: `Kick ends sessions: their boards are free again, and their clients are told.
Who was kicked may come back; 'wamble ban' keeps him out.

` + whom,
		Example: `  wamble kick 192.0.2.7 --reason 'too loud'`,
		Args:    oneArg("the player"),
	}, "kick", (*storeFlags).register, func(args []string) (server.Order, error) {
		return server.Order{Whom: args[0], Text: reason}, nil
	}, func(n uint64) string { return plural(int(n), "session") + " ended" })
	cmd.Flags().StringVar(&reason, "reason", "", "a `text` that they are told")
	return cmd
}
