package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
)

// hostCommands makes the subcommands of admin.Commands, which go to a running server.
func hostCommands() []*cobra.Command {
	var list []*cobra.Command
	for i := range admin.Commands {
		if c := &admin.Commands[i]; c.Channels&admin.CommandLine != 0 {
			list = append(list, hostCommand(c))
		}
	}
	return list
}

// hostCommand makes the subcommand of one row of admin.Commands.
func hostCommand(c *admin.Command) *cobra.Command {
	var flags storeFlags
	var asJSON bool
	cmd := &cobra.Command{Use: c.Use(), Short: c.Help.Short, Long: c.Help.Long, Example: c.Help.Example, Args: noArgs}
	flags.registerData(cmd)
	var whats []string
	for i := range c.Args {
		addArg(cmd, &c.Args[i])
		if c.Args[i].Word != "" {
			whats = append(whats, c.Args[i].Missing)
		}
	}
	if len(whats) > 1 {
		cmd.Args = everyArg(whats)
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
		// Ask the server, once for each line if the words come from standard input.
		dir, err := flags.dataDir(cmd)
		if err != nil {
			return err
		}
		if len(words) > 0 && words[0] == "-" && takesLines(c) {
			return hostLines(cmd, c, &flags, args)
		}
		result, err := c.Ask(cmd.Context(), dir, args)
		switch {
		case errors.Is(err, admin.ErrNoServer):
			return c.WrapError(args, flags.noServer(dir))
		case err != nil:
			return c.WrapError(args, err)
		}
		out := cmd.OutOrStdout()
		if asJSON {
			if err := printJSON(out, result); err != nil {
				return err
			}
			out = io.Discard // the exit code is the same
		}
		return c.Print(out, args, result)
	}
	return cmd
}

func takesLines(c *admin.Command) bool {
	return slices.ContainsFunc(c.Args, func(a admin.Arg) bool { return a.Lines })
}

// The bounds of standard input.
const (
	mostLines = 4096
	maxLine   = 256 // bytes
)

// hostLines gives a command once for each line of standard input, and goes on after an error.
// An error has the number of the line and not its text, which may be a token.
func hostLines(cmd *cobra.Command, c *admin.Command, flags *storeFlags, args *admin.Arguments) error {
	var errs []error
	lines := bufio.NewScanner(cmd.InOrStdin())
	lines.Buffer(nil, maxLine)
	number, given := 0, 0
	for number < mostLines && lines.Scan() {
		number++
		one := *args
		if one.Whom = strings.TrimSpace(lines.Text()); one.Whom == "" {
			continue
		}
		given++
		result, err := c.Ask(cmd.Context(), flags.data, &one)
		if errors.Is(err, admin.ErrNoServer) {
			return flags.noServer(flags.data)
		}
		if err == nil {
			err = c.Print(cmd.OutOrStdout(), &one, result)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", number, err))
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		errs = append(errs, fmt.Errorf("line %d: %w", number+1, err))
	case number == mostLines && lines.Scan():
		errs = append(errs, fmt.Errorf("only the first %d lines were read", mostLines))
	case given == 0:
		errs = append(errs, errors.New("standard input names nobody"))
	}
	return errors.Join(errs...)
}

// addArg adds an argument to a command, as a word or as a flag.
func addArg(cmd *cobra.Command, a *admin.Arg) {
	switch {
	case a.Flag == "":
		cmd.ValidArgs = a.Choice
		cmd.Args = oneArg(a.Missing)
		switch {
		case a.Optional && a.Many():
			cmd.Args = cobra.ArbitraryArgs
		case a.Optional:
			cmd.Args = cobra.MaximumNArgs(1)
		case a.Many():
			cmd.Args = someArgs(a.Missing)
		}
	case a.IsBool():
		cmd.Flags().Bool(a.Flag, false, a.Help)
	case a.Kind == admin.Span:
		cmd.Flags().Duration(a.Flag, 0, a.Help)
	default:
		cmd.Flags().StringP(a.Flag, a.Short, "", a.Help)
	}
}

// reachable returns the address to connect to for an address to listen on.
func reachable(a netip.AddrPort) string {
	if a.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", a.Port())
	}
	return a.String()
}
