package main

import (
	"github.com/spf13/cobra"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, explain or begin a configuration",
		Example: `  wamble config init
  wamble config show --profile blitz
  wamble config options port`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configShowCommand(), configInitCommand(), configOptionsCommand())
	return cmd
}
