package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

func statusCommand() *cobra.Command {
	var flags storeFlags
	var asJSON bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the running server how it is",
		Long: `Status asks the server that runs on a data directory: what it serves and where,
its boards and sessions, and how far the database is behind the journal.

With --wait it waits for a server that starts, and fails if that does not serve
players in time.`,
		Example: `  wamble status
  wamble status --data /var/lib/wamble --json
  wamble status --wait 30s`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := flags.dataDir(cmd)
			if err != nil {
				return err
			}
			s, err := awaitReady(cmd.Context(), dir, patience)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return printServer(cmd.OutOrStdout(), s)
		},
	}
	cmd.Flags().StringVarP(&flags.config, "config", "c", "", "configuration `file` (default wamble.conf here, if there is one)")
	cmd.Flags().StringVar(&flags.data, "data", "", "data `directory` (default data-dir, else the user's state directory)")
	cmd.Flags().DurationVar(&patience, "wait", 0, "wait this long until players are served")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for tools")
	return cmd
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

// awaitReady returns the status of a server, with patience that of one which
// serves players.
func awaitReady(ctx context.Context, dir string, patience time.Duration) (server.Status, error) {
	const pause = 50 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		var s server.Status
		err := askServer(ctx, dir, "status", nil, &s)
		if patience == 0 || err == nil && s.Ready() {
			return s, err
		}
		if time.Now().After(end) {
			if err == nil {
				err = fmt.Errorf("the server on %s does not serve players yet: %s", dir, s.Profiles[0].Stage)
			}
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// askServer asks a running server, and says how to start one if there is none.
func askServer(ctx context.Context, dir, verb string, args, result any) error {
	return explainNoServer(server.Ask(ctx, dir, verb, args, result), dir)
}

// explainNoServer says how to start a server if that is what is missing.
func explainNoServer(err error, dir string) error {
	if errors.Is(err, server.ErrNoServer) {
		return fmt.Errorf("no server runs on %s; 'wamble serve --data %s' starts one", dir, dir)
	}
	return err
}

func printServer(w io.Writer, s server.Status) error {
	rows := []string{
		fmt.Sprintf("server\tpid %d, up %v", s.PID, s.Uptime.Duration()),
		"data\t" + s.Data,
		fmt.Sprintf("journal\t%s, %s, %d dead letters", s.Journal.State, s.Journal.Durability, s.Journal.DeadLetters),
	}
	if s.Admin != "" {
		rows = append(rows, "metrics\thttp://"+s.Admin+"/metrics")
	}
	for _, p := range s.Profiles {
		store := p.Store
		if p.Away {
			store += " (away)"
		}
		rows = append(rows,
			"profile\t"+p.Name+", "+p.Stage,
			fmt.Sprintf("  address\tudp %s, http %s", p.UDP, p.HTTP),
			"  boards\t"+showCounts(p.Boards),
			fmt.Sprintf("  sessions\t%d, %d present", p.Sessions, p.Present),
			fmt.Sprintf("  moves\t%d since the start", p.Moves),
			fmt.Sprintf("  queue\t%d messages, the oldest %v", p.Depth, p.Age.Duration()),
			"  store\t"+store,
		)
	}
	return printTable(w, rows)
}

// showCounts is "3 active, 5 dormant".
func showCounts(counts map[string]int) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", strings.ToLower(name), n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// reachable turns an address to listen on into one to connect to.
func reachable(a netip.AddrPort) string {
	if a.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", a.Port())
	}
	return a.String()
}
