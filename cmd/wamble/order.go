package main

import (
	"fmt"
	"sort"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

// orderCommand completes a command that gives a running server an order. read
// makes the order of the arguments, and said turns what came of it in one profile
// into words. register says which flags it has.
func orderCommand(cmd *cobra.Command, verb string, register func(*storeFlags, *cobra.Command), read func(args []string) (server.Order, error), said func(n uint64) string) *cobra.Command {
	var flags storeFlags
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := read(args)
		if err != nil {
			return see(cmd, err)
		}
		o.Profile = flags.profile
		dir, err := flags.dataDir(cmd)
		if err != nil {
			return err
		}
		var done server.Obeyed
		if err := askServer(cmd.Context(), dir, verb, o, &done); err != nil {
			return err
		}
		var names []string
		for name := range done {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, said(done[name])); err != nil {
				return err
			}
		}
		return nil
	}
	register(&flags, cmd)
	return cmd
}
