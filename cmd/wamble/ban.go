package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func banCommand() *cobra.Command {
	var reason string
	var length time.Duration
	cmd := orderCommand(&cobra.Command{
		Use:   "ban WHOM",
		Short: "Keep players out",
		Long: `Ban ends sessions and keeps whoever was named out, for a time or until 'wamble
unban'. It holds after a restart too.

` + whom,
		Example: `  wamble ban 192.0.2.0/24 --for 24h --reason 'flooding'
  wamble ban 2001:db8::7 --profile club`,
		Args: oneArg("the player"),
	}, "ban", (*storeFlags).register, func(args []string) (server.Order, error) {
		o := server.Order{Whom: args[0], Text: reason}
		if length < 0 {
			return o, errors.New("--for takes a time from now on")
		}
		if length > 0 {
			o.Until = time.Now().Add(length)
		}
		return o, nil
	}, func(n uint64) string { return "banned, " + plural(int(n), "session") + " ended" })
	cmd.Flags().StringVar(&reason, "reason", "", "a `text` that they are told")
	cmd.Flags().DurationVar(&length, "for", 0, "how long (default for ever)")
	return cmd
}
