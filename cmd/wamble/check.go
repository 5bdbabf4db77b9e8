package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/server"
)

func checkCommand() *cobra.Command {
	var flags storeFlags
	var original bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with a configuration file, and what would run with it",
		Long: `Check reads a configuration file as the server would, and changes nothing.

Every error and warning is shown under the line that caused it. Without errors
it tells which profiles would run, on which ports and with which store. Certificates
and password files are read, too. The exit code is 1 if there are errors, and 0 if
there are none or only warnings.

With --original FILE is one of the original Wamble, which is printed as ours are: what
has no effect is a comment, and what means something else here is said.

Without FILE it is the file that --config names by default: see 'wamble help'.`,
		Example: `  wamble check
  wamble check --original old.conf > wamble.conf
  wamble check /etc/wamble/wamble.conf`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return see(cmd, fmt.Errorf("one file is checked at a time, not %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && flags.config != "" {
				return see(cmd, errors.New("name the file once, with --config or without"))
			}
			if len(args) == 1 {
				flags.config = args[0]
			}
			if original {
				name, text, err := readConfig(flags.config)
				if err == nil {
					_, err = io.WriteString(cmd.OutOrStdout(), config.FromOriginal(name, text))
				}
				return err
			}
			c, err := flags.load(cmd)
			if err != nil {
				return err
			}
			bad := false
			for _, f := range admin.Secrets(c, c.Running(), time.Now()) {
				if f.Verdict != admin.SeverityOK {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n  hint: %s\n", severity[f.Verdict], f.Subject, f.Text,
						f.Advice)
				}
				bad = bad || f.Verdict == admin.SeverityError
			}
			if bad {
				return errors.New("a server with this configuration would not start")
			}
			return printPlan(cmd.OutOrStdout(), c, cmp.Or(flags.data, c.Server.DataDir))
		},
	}
	flags.registerData(cmd)
	cmd.Flags().BoolVar(&original, "original", false, "print a file of the original as ours are")
	return cmd
}

var severity = map[admin.Severity]string{admin.SeverityWarning: "warning", admin.SeverityError: "error"}

// printPlan prints what a server with this configuration would do. Data is its data directory;
// "" for that of the user.
func printPlan(w io.Writer, c *config.Config, data string) error {
	name := c.File
	if name == "" {
		name = "no " + defaultConfigFile + " here, the defaults apply"
	}
	warnings := len(c.Warnings)
	journal := fmt.Sprintf("%s, durability %s", directory(data), c.Server.Durability)
	if c.Server.Journal == "postgres" {
		var replicated bool
		if journal, replicated = sharedJournal(c); !replicated {
			warnings++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: no errors, %s\n", name, plural(warnings, "warning"))
	for _, p := range c.Running() {
		fmt.Fprintf(&b, "profile %s: %s; %s\n", p.Name, ports(p), p.Storage())
	}
	if waiting := len(c.Profiles) - len(c.Running()); waiting > 0 && c.Running()[0] != c.Default {
		fmt.Fprintf(&b, "%s not advertised or abstract\n", plural(waiting, "profile"))
	} else if len(c.Profiles) > 0 && c.Running()[0] == c.Default {
		fmt.Fprintf(&b, "no profile is advertised, so the top level runs as %q\n", config.DefaultName)
	}
	if len(c.Rules) > 0 {
		fmt.Fprintln(&b, plural(len(c.Rules), "policy rule"))
	}
	if c.Server.AdminListen == "" {
		fmt.Fprintln(&b, "admin listener: off")
	} else {
		fmt.Fprintf(&b, "admin listener: %s\n", c.Server.AdminListen)
	}
	fmt.Fprintln(&b, "journal: "+journal)
	_, err := io.WriteString(w, b.String())
	return err
}

// askTime bounds the query to the database of a journal.
const askTime = 2 * time.Second

// sharedJournal describes where a journal in PostgreSQL is, and whether it survives the loss
// of its machine. Replicated is also true if the database does not answer.
func sharedJournal(c *config.Config) (text string, replicated bool) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	switch where, replicated, err := server.DescribeJournal(ctx, c); {
	case err != nil:
		return where + "; it could not be asked whether it waits for a standby: " + err.Error(), true
	case !replicated:
		return where + "\nWARNING: synchronous_standby_names is empty there: with that machine the last moves are lost, unless the service replicates below PostgreSQL", false
	default:
		return where + ", which waits for a synchronous standby", true
	}
}

// ports lists the ports of a profile: "UDP 8888, HTTP 8888, WebSocket 8888/ws".
func ports(p *config.Profile) string {
	n := p.Network
	list := []string{"no UDP"}
	if number, ok := n.UDPPort(); ok {
		list[0] = "UDP " + port(number)
	}
	secure := ""
	switch {
	case n.TLSCert != "":
		secure = " with TLS"
	case n.Domain != "":
		secure = " with TLS for " + strings.Join(n.Domains(), ", ")
	}
	if number, ok := n.HTTP(); ok {
		list = append(list, "HTTP "+port(number)+secure)
	}
	if number, ok := n.WebSocket(); ok {
		list = append(list, "WebSocket "+port(number)+n.WebSocketPath+secure)
	}
	if n.ListenAddress != "" {
		list = append(list, "on "+n.ListenAddress)
	}
	return strings.Join(list, ", ")
}

func port(number int) string {
	if number == 0 {
		return "any"
	}
	return fmt.Sprint(number)
}

func directory(dir string) string {
	if dir == "" {
		return "in the user's state directory"
	}
	return "in " + dir
}

func plural(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
