// Command wamble is the whole of Wamble in one binary: the server, the tools
// of the host who runs it, and the tools of the developer who builds on it.
//
// Each subcommand is one row of the commands table below.
// The commands that a host gives to a running server are rows of admin.Commands.
package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commands is the closed list of subcommands, except those of hostCommands.
var commands = []func() *cobra.Command{
	serveCommand,
	doctorCommand,
	checkCommand,
	configCommand,
	dbCommand,
	migrateCommand,
	importCommand,
	shardsCommand,
	backupCommand,
	restoreCommand,
	moveStoreCommand,
	fsckCommand,
	exportCommand,
	exportPlayerCommand,
	replayCommand,
	runnerCommand,
	packetCommand,
	perftCommand,
	benchCommand,
	botCommand,
	manCommand,
	playCommand,
	versionCommand,
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitError makes run return the given code without printing anything: the
// command has already said on stderr what went wrong.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run executes one command line and returns the exit code of the process: 0
// when it did what was asked, 1 when it could not.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.Execute()
	me := os.Geteuid()
	if worksAs != nil && refused(err) != "" {
		err = fmt.Errorf("%w\nThe command works as %s, who owns the data", err, userName(me))
		me = 0
	}
	err = errors.Join(err, workAsCaller())
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(errOut, "wamble: %v\n", foreign(err, me))
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "wamble",
		Short: "A massively multiplayer chess server: after every move you are switched to another board",
		Long: `Wamble is a massively multiplayer chess server. After every move you are
switched to another board of a shared pool.

` + whichServer,
		Example: `  wamble serve
  wamble help COMMAND`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() { // the flag may be of an unknown subcommand
			if unknown := cmd.Args(cmd, cmd.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		if !cmd.HasParent() && originalFlag.MatchString(err.Error()) {
			return fmt.Errorf("%w. Instead of the original's flags there are commands: 'wamble serve -c FILE', "+
				"'wamble reload -c FILE' for --reload, 'wamble handoff -c FILE' for --hot-reload", err)
		}
		var bad *pflag.InvalidValueError
		if errors.As(err, &bad) {
			// The library's own words name functions of this program.
			err = fmt.Errorf("--%s: %w", bad.GetFlag().Name, bad.Unwrap())
			if takes, ok := flagTypes[bad.GetFlag().Value.Type()]; ok {
				err = fmt.Errorf("--%s takes %s, not %q", bad.GetFlag().Name, takes, bad.GetValue())
			}
		}
		return see(cmd, err)
	})
	subs := hostCommands()
	for _, c := range commands {
		subs = append(subs, c())
	}
	parent(root, subs...)
	borrow(root)
	return root
}

// originalFlag is found in what is said about a flag of the original's only command.
var originalFlag = regexp.MustCompile(`'[cp]' in|--(config|profile|reload|hot-reload)$`)

// flagTypes describes the values of flags by type. Strings accept anything, and types of this
// package have error texts of their own.
var flagTypes = map[string]string{
	"bool":     "true or false",
	"duration": "a time such as 90s or 24h",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0",
}

// borrow adds to the library's commands help and completion what all commands of this package
// have: an example, and an error for unknown words.
func borrow(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  wamble help perft"
			c.Run, c.RunE = nil, help
		case "completion":
			c.Example = "  source <(wamble completion bash)"
			parent(c)
			for _, shell := range c.Commands() {
				shell.Example = "  wamble completion " + shell.Name()
				shell.Args = noArgs
			}
		}
	}
}

func help(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err == nil && about.HasSubCommands() {
		err = about.Args(about, rest)
	}
	if err != nil {
		return err
	}
	return about.Help()
}

// see adds to an error of the command line how to show the command's help.
func see(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help'", err, cmd.CommandPath())
}

// noArgs is the cobra.PositionalArgs of commands that take only flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return see(cmd, fmt.Errorf("%q takes no argument, but there is %q", cmd.CommandPath(), args[0]))
}

// oneArg is the cobra.PositionalArgs of commands that take one argument; what names it.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return see(cmd, fmt.Errorf("%q takes one argument, %s; there are %d", cmd.CommandPath(), what, len(args)))
		}
		return someArgs(what)(cmd, args)
	}
}

// everyArg is the cobra.PositionalArgs of commands that take one argument for each of whats.
func everyArg(whats []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(whats) {
			return see(cmd, fmt.Errorf("%q needs %s; there are %d arguments", cmd.CommandPath(),
				strings.Join(whats, " and "), len(args)))
		}
		return nil
	}
}

// someArgs is the cobra.PositionalArgs of commands that take at least one argument; what
// names one.
func someArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return see(cmd, fmt.Errorf("%q needs %s", cmd.CommandPath(), what))
		}
		return nil
	}
}

// hexBytes parses hexadecimal digits.
func hexBytes(digits string) ([]byte, error) {
	b, err := hex.DecodeString(digits)
	var bad hex.InvalidByteError
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("not a hexadecimal digit: %q", rune(bad))
	case err != nil:
		return nil, errors.New("an odd number of hexadecimal digits")
	}
	return b, nil
}

// parent makes c the parent of subs. Without arguments it prints its help; an unknown word is
// an error with suggestions.
func parent(c *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	c.AddCommand(subs...)
	c.SuggestionsMinimumDistance = 2
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
		return see(cmd, err)
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return c
}
