package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/host"
	"wamble/internal/server"
)

// hostCommands makes the subcommands of host.Commands: what a host tells a server
// that runs.
func hostCommands() []*cobra.Command {
	var list []*cobra.Command
	for i := range host.Commands {
		if c := &host.Commands[i]; c.Doors&host.CommandLine != 0 {
			list = append(list, hostCommand(c))
		}
	}
	return list
}

func hostCommand(c *host.Command) *cobra.Command {
	var flags storeFlags
	var asJSON bool
	cmd := &cobra.Command{Use: c.Use(), Short: c.Help.Short, Long: c.Help.Long, Example: c.Help.Example, Args: noArgs}
	flags.registerData(cmd)
	for i := range c.Args {
		addArg(cmd, &c.Args[i])
	}
	if c.Line.JSON {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for tools")
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		args, err := c.Read(words, func(name string) (string, bool) {
			f := cmd.Flags().Lookup(name)
			return f.Value.String(), f.Changed
		})
		if err != nil {
			return see(cmd, err)
		}
		dir, err := flags.dataDir(cmd)
		if err != nil {
			return err
		}
		result, err := c.Ask(cmd.Context(), dir, args)
		switch {
		case errors.Is(err, host.ErrNoServer):
			return fmt.Errorf("%sno server runs on %s; 'wamble serve --data %s' starts one", c.Line.Failed, dir, dir)
		case err != nil:
			return fmt.Errorf("%s%w", c.Line.Failed, err)
		case asJSON:
			return printJSON(cmd.OutOrStdout(), result)
		}
		return c.Print(cmd.OutOrStdout(), result)
	}
	return cmd
}

// addArg lets a command take an argument, as a word or as a flag.
func addArg(cmd *cobra.Command, a *host.Arg) {
	switch {
	case a.Flag == "":
		cmd.ValidArgs = a.Choice
		cmd.Args = oneArg(a.What)
		if a.Many() {
			cmd.Args = someArgs(a.What)
		}
	case a.Kind == host.Switch:
		cmd.Flags().Bool(a.Flag, false, a.Help)
	case a.Kind == host.Span:
		cmd.Flags().Duration(a.Flag, 0, a.Help)
	default:
		cmd.Flags().StringP(a.Flag, a.Letter, "", a.Help)
	}
}

// dataDir returns the data directory of the flags or of the configuration.
func (f *storeFlags) dataDir(cmd *cobra.Command) (string, error) {
	configured := ""
	if f.data == "" {
		c, err := loadConfig(cmd, f.config, "")
		if err != nil {
			return "", err
		}
		configured = c.Server.DataDir
	}
	return server.DataDir(f.data, configured, os.Getenv)
}

// reachable turns an address to listen on into one to connect to.
func reachable(a netip.AddrPort) string {
	if a.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", a.Port())
	}
	return a.String()
}
