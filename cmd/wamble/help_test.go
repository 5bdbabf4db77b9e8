package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandHelps walks the tree of commands: each has a description and an example
// that begins with its own name.
func TestEveryCommandHelps(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s: no short help", c.CommandPath())
		}
		if c.Example == "" {
			t.Errorf("%s: no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "wamble") &&
				!strings.HasPrefix(line, "#") {
				t.Errorf("%s: example %q does not show the command", c.CommandPath(), line)
			}
		}
		if c.RunE == nil && c.Run == nil && !c.HasSubCommands() {
			t.Errorf("%s: does nothing", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand())
}
