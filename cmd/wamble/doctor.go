package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/host"
	"wamble/internal/server"
)

func doctorCommand() *cobra.Command {
	var flags storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether a server could run well here",
		Long: `Doctor looks at what a server needs before it is started: the data directory,
room and speed of its disk, the ports, the receive buffer that the kernel grants,
the limit of open files, the clock, the databases, and what db-sslmode protects
from. It says what to do about
what it finds, and changes nothing. The exit code is 1 if something would keep the
server from serving.`,
		Example: `  wamble doctor
  wamble doctor --config /etc/wamble.conf --data /var/lib/wamble`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd, flags.config, "")
			if err != nil {
				return err
			}
			dir, err := server.DataDir(flags.data, c.Server.DataDir, os.Getenv)
			if err != nil {
				return err
			}
			return printFound(cmd, server.Examine(cmd.Context(), c, dir), asJSON)
		},
	}
	flags.registerData(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for tools")
	return cmd
}

// printFound shows the findings; it fails if one of them is serious.
func printFound(cmd *cobra.Command, found []host.Finding, asJSON bool) error {
	broken := 0
	var rows []string
	for _, f := range found {
		if f.Verdict == host.Broken {
			broken++
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.Verdict, f.Subject, f.Text))
		if f.Advice != "" {
			rows = append(rows, "\t\t→ "+f.Advice)
		}
	}
	var err error
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), found)
	} else {
		err = printTable(cmd.OutOrStdout(), rows)
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("%s to be mended before a server can run here", plural(broken, "thing"))
	}
	return err
}
