package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func drainCommand() *cobra.Command {
	return orderCommand(&cobra.Command{
		Use:   "drain on|off",
		Short: "Let the running server take nobody new, or take them again",
		Long: `Drain on lets a server run empty: whoever plays goes on, nobody new is taken,
and /readyz says 503 to whatever directs players here. Drain off ends that; so
does the end of the server.`,
		Example: `  wamble drain on
  wamble drain off`,
		Args:      oneArg("on or off"),
		ValidArgs: []string{"on", "off"},
	}, "drain", (*storeFlags).registerData, func(args []string) (server.Order, error) {
		on, known := map[string]bool{"on": true, "off": false}[args[0]]
		if !known {
			return server.Order{}, fmt.Errorf("draining is on or off, not %q", args[0])
		}
		return server.Order{On: on}, nil
	}, func(n uint64) string { return plural(int(n), "player") + " present" })
}
