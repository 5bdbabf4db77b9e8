package main

import "github.com/spf13/cobra"

func configCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "config",
		Short: "Show, explain or begin a configuration",
		Example: `  wamble config init
  wamble config show --profile blitz
  wamble config options port`,
	}, configShowCommand(), configInitCommand(), configOptionsCommand())
}
