package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"wamble"
	"wamble/internal/server"
)

func archiveCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use:   "archive BOARD",
		Short: "End the game of a board",
		Long: `Archive ends a game as a draw that pays nobody and changes no rating, for
instance because its position is not fit to be seen. Whoever holds the board is
told, and gets another one.`,
		Example: `  wamble archive 17`,
		Args:    oneArg("the number of the board"),
	}, "archive", (*storeFlags).register, func(args []string) (server.Order, error) {
		id, err := strconv.ParseUint(args[0], 10, 63)
		if err != nil || id == 0 {
			return server.Order{}, fmt.Errorf("%q is not the number of a board", args[0])
		}
		return server.Order{Board: wamble.BoardID(id)}, nil
	}, func(n uint64) string {
		if n == 0 {
			return "no such game is running"
		}
		return "the game has ended"
	})
}
