package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages of all commands",
		Long: `Man writes a manual page for every command into a directory that exists, for
packages: wamble.1, wamble-serve.1 and so on, with what "wamble help" says.`,
		Example: `  wamble man /usr/local/share/man/man1`,
		Args:    oneArg("a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManuals(cmd.Root(), args[0])
		},
	}
}

// writeManuals writes the pages of a command and of its subcommands.
func writeManuals(c *cobra.Command, dir string) error {
	if !c.IsAvailableCommand() && c.HasParent() {
		return nil
	}
	f, err := os.Create(filepath.Join(dir, manualOf(c)+".1"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	writeManual(w, c)
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if err := writeManuals(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manualOf returns the name of a command's page.
func manualOf(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writeManual writes a page in the language of man(7).
func writeManual(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, ".TH %s 1 \"\" \"Wamble %s\"\n", roff(strings.ToUpper(manualOf(c))), release)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(manualOf(c)), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprintf(w, ".SH DESCRIPTION\n")
		literal(w, c.Long)
	}
	writeFlags(w, "OPTIONS", c.NonInheritedFlags())
	writeFlags(w, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n")
		literal(w, c.Example)
	}
	var see []string
	if c.HasParent() {
		see = append(see, manualOf(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			see = append(see, manualOf(sub))
		}
	}
	if len(see) > 0 {
		fmt.Fprintf(w, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(see, "(1), ")))
	}
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name+" "+kind)), roff(usage))
	})
}

// literal writes a text without filling its lines.
func literal(w io.Writer, text string) {
	fmt.Fprintln(w, ".nf")
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, roff(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprintln(w, ".fi")
}

// roff escapes text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
