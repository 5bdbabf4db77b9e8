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

	"wamble/internal/handoff"
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
	flags.registerData(cmd)
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
	if s.Draining {
		rows = append(rows, "draining\tnobody new is taken; 'wamble drain off' ends it")
	}
	rows = append(rows, "reload\t"+showReload(s.Reload), "handoff\t"+showHandoff(s.Handoff))
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
		if len(p.Brownout) > 0 {
			rows = append(rows, "  brown-out\t"+strings.Join(p.Brownout, ", "))
		}
		if p.Bans > 0 {
			rows = append(rows, fmt.Sprintf("  bans\t%d", p.Bans))
		}
		if p.Failures > 0 {
			rows = append(rows, fmt.Sprintf("  failures\t%d since the start", p.Failures))
		}
	}
	for _, d := range s.Departing {
		rows = append(rows, fmt.Sprintf("leaving\t%s: %d messages for %s, the oldest %v", d.Name, d.Depth, d.Store, d.Age.Duration()))
	}
	return printTable(w, rows)
}

// showReload says how the last reload ended.
func showReload(r *server.Reloaded) string {
	switch {
	case r == nil:
		return "none since the start"
	case r.Error != "":
		return r.Time.Format(time.DateTime) + ", refused: " + r.Error
	}
	return fmt.Sprintf("%s, %s", r.Time.Format(time.DateTime), plural(len(r.Changes), "change"))
}

// showHandoff says how the process came to its image.
func showHandoff(h *handoff.Result) string {
	switch {
	case h == nil:
		return "none since the start"
	case h.Failure != "":
		return h.At.Format(time.DateTime) + ", given back: " + h.Failure
	}
	return fmt.Sprintf("%s, from %s to %s in %v", h.At.Format(time.DateTime), h.From, h.To, h.Frozen.Duration())
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
