package main

import (
	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func eraseCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use:   "erase KEY",
		Short: "Delete a player's data",
		Long: `Erase deletes what belongs to an identity: its public key, its handle, its
rating, and the tie of its sessions. The games stay, as games of nobody. It cannot
be undone; who logs in with the key again is somebody new.

KEY is the public key of the player, 64 hex digits. Do it in every profile that
has a database of its own; without --profile that is all of them.`,
		Example: `  wamble erase 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		Args:    oneArg("the public key"),
	}, "erase", (*storeFlags).register, func(args []string) (server.Order, error) {
		return server.Order{Whom: args[0]}, nil
	}, func(n uint64) string { return plural(int(n), "session") + " untied, the identity deleted" })
}
