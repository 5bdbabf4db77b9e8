package main

import (
	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func unbanCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use:   "unban WHOM",
		Short: "Let players in again",
		Long: `Unban lifts a ban. Name the player exactly as the ban did.

` + whom,
		Example: `  wamble unban 192.0.2.0/24`,
		Args:    oneArg("the player"),
	}, "unban", (*storeFlags).register, func(args []string) (server.Order, error) {
		return server.Order{Whom: args[0]}, nil
	}, func(n uint64) string { return plural(int(n), "ban") + " lifted" })
}
