package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/observe"
	"wamble/internal/server"
	"wamble/internal/systemd"
)

func serveCommand() *cobra.Command {
	flags := storeFlags{starts: true}
	var record string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve players",
		Long: `Serve runs the profiles of the configuration, each on UDP, WebSocket and HTTP
on a port of its own. Without a configuration it runs the default profile on port
8888, with a SQLite database and the journal in the data directory.

A move is in the journal before its player is answered, and is brought to the
database behind that. SIGTERM or SIGINT stops the server in order; a second one
ends it at once, which loses nothing either. SIGHUP reads the configuration again,
as 'wamble reload' does.`,
		Example: `  wamble serve
  wamble serve --config /etc/wamble.conf --profile club
  wamble serve --data /var/lib/wamble`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Take over the service manager's sockets, and handle the signals.
			sockets, err := activated()
			if err != nil {
				return err
			}
			signals := newControlSignals()
			var running atomic.Pointer[server.Server]
			say := func(text string) {
				if s := running.Load(); s != nil && s.JSONLog() != nil {
					s.JSONLog().Info(text) // a JSON log must have no other lines
					return
				}
				sayTo(cmd.ErrOrStderr())(text)
			}
			ctx, cancel := untilStopped(cmd.Context(), say,
				"stopping in order: what is in the journal goes to the database")
			defer cancel()
			// Serve until stopped. A handoff loads the options again.
			load := func() (server.Options, error) {
				signals.listen()
				o, err := serveOptions(cmd, &flags)
				o.Record, o.Inherited = record, sockets
				o.Handoff.Version, o.Handoff.Listen = buildVersion(), signals.listen
				return o, err
			}
			return server.Serve(load, func(s *server.Server) error {
				running.Store(s)
				return runServer(ctx, cmd, s, signals)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&record, "record", "",
		"record all that the profile is told in this new `file`, for 'wamble replay'; it holds the players' tokens")
	cmd.Flags().Lookup("profile").Usage = "serve only this `profile` (default all that run)"
	return cmd
}

func serveOptions(cmd *cobra.Command, flags *storeFlags) (server.Options, error) {
	c, dir, err := flags.configured(cmd)
	if err != nil {
		return server.Options{}, err
	}
	if err := flags.mayServe(os.Geteuid()); err != nil {
		return server.Options{}, err
	}
	if name := flags.profile; name != "" && name != config.DefaultName && c.Profile(name) == nil {
		return server.Options{}, fmt.Errorf("there is no profile %q; 'wamble config show' lists them", name)
	}
	return server.Options{
		Config: c, Profile: flags.profile, Dir: dir, Log: observe.NewLog(cmd.ErrOrStderr(), c),
		Load: func() (*config.Config, error) { return readAgain(cmp.Or(flags.config, configHere())) },
	}, nil
}

// readAgain reads the configuration for a reload.
func readAgain(path string) (*config.Config, error) {
	name, text, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	return config.Load(name, text, config.Params{Getenv: os.Getenv})
}

// greet prints the addresses of the profiles when the server is ready.
func greet(ctx context.Context, out io.Writer, s *server.Server) {
	if s.WaitReady(ctx) != nil {
		return
	}
	if log := s.JSONLog(); log != nil { // output and log may be one stream, which must be JSON only
		for _, p := range s.Profiles() {
			text := "serves players"
			if !p.Local {
				text = "waits for a part of the world"
			}
			log.Info(text, "profile", p.Profile, "http", p.HTTP.String(), "tls", p.Secure, "games", p.Store, "config",
				s.ConfigFile(), "data", s.DataDir())
		}
		return
	}
	for _, p := range s.Profiles() {
		fmt.Fprintln(out, serving(p))
		scheme := "http"
		if p.Secure {
			scheme = "https"
		}
		switch {
		case p.Domain != "" && p.HTTP.Port() == 443:
			fmt.Fprintf(out, "  browser  https://%s/\n", p.Domain)
		case p.Domain != "":
			fmt.Fprintf(out, "  browser  https://%s:%d/\n", p.Domain, p.HTTP.Port())
		default:
			fmt.Fprintf(out, "  browser  %s://%s/\n", scheme, reachable(p.HTTP))
		}
		if p.UDP.IsValid() {
			fmt.Fprintf(out, "  client   udp://%s\n", reachable(p.UDP))
		}
		fmt.Fprintf(out, "  games    %s\n", p.Store)
	}
	file := s.ConfigFile()
	if file == "" {
		file = "none: the defaults"
	}
	fmt.Fprintf(out, "  config   %s\n  data     %s\n", file, s.DataDir())
	if admin := s.Admin(); admin != "" {
		fmt.Fprintf(out, "  console  http://%s/, opened by the token in %s\n", admin, s.AdminToken())
	}
	fmt.Fprintln(out, "Stop it with Ctrl-C.")
}

// serving describes whether this node serves a profile.
func serving(p server.Listening) string {
	if !p.Local {
		return fmt.Sprintf("Wamble waits for a part of the profile %s, which other machines serve.", p.Profile)
	}
	return fmt.Sprintf("Wamble serves the profile %s.", p.Profile)
}

// warner returns a function that prints an error outside the server.
func warner(cmd *cobra.Command) func(error) {
	return func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), "wamble:", err) }
}

// runServer runs a server until it stops or hands over.
func runServer(stop context.Context, cmd *cobra.Command, s *server.Server, signals *controlSignals) error {
	ctx, cancel := context.WithCancel(stop)
	defer cancel()
	warn := warner(cmd)
	go func() {
		for ctx.Err() == nil {
			guard.Run("a signal", func() { signals.handle(ctx, s) }, warn)
		}
	}()
	tell := teller(warn)
	go func() { guard.Run("the service manager", func() { announce(ctx, s, tell) }, warn) }()
	go func() { guard.Run("the watchdog", func() { keepWatchdog(ctx, s, tell) }, warn) }()
	if !s.Inherited() {
		go func() { guard.Run("the greeting", func() { greet(ctx, cmd.OutOrStdout(), s) }, warn) }()
	}
	noted := make(chan struct{})
	stopping := context.AfterFunc(stop, func() {
		defer close(noted)
		guard.Run("the service manager", func() { tell(systemd.Stopping) }, warn)
		guard.Run("the audit log", func() { s.RunAudited("SIGTERM or SIGINT", "stop", func() error { return nil }) },
			warn)
	})
	defer func() {
		if !stopping() { // the stop is being recorded
			<-noted
		}
	}()
	return s.Run(ctx)
}
