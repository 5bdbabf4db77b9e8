package main

import (
	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func brownoutCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use:   "brownout off|SWITCH...",
		Short: "Let the running server do without something",
		Long: `Brownout lets profiles do without something, so that the rest goes on. The
switches are
  no-new-sessions  who is not known yet is turned away
  no-predictions   no new predictions are taken
  slow-watching    spectators get fewer updates
  read-only        nothing is decided: no moves, no hellos
Those that are named are on, the others off. They hold until they are changed,
after a restart too.`,
		Example: `  wamble brownout no-predictions slow-watching
  wamble brownout read-only --profile club
  wamble brownout off`,
		Args:      someArgs("off, or a switch"),
		ValidArgs: append(server.BrownoutWords(), "off"),
	}, "brownout", (*storeFlags).register, func(args []string) (o server.Order, err error) {
		if len(args) == 1 && args[0] == "off" {
			return o, nil
		}
		o.Brownout, err = server.ParseBrownout(args)
		return o, err
	}, func(uint64) string { return "done" })
}
