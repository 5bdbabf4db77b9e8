package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/handoff"
	"wamble/internal/profile"
	"wamble/internal/store/sqlite"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestHostCommands: every command of admin.Commands that has a command line does what its
// examples show, and prints that; the others refer to commands that exist.
func TestHostCommands(t *testing.T) {
	dir := t.TempDir()
	r, err := runner.Open(pebblestore.At(dir+"/journal", pebblestore.Options{}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var draining atomic.Bool
	everywhere, err := admin.ReadRestrictions(r, &draining)
	if err != nil {
		t.Fatal(err)
	}
	restrictions, err := everywhere.Of("club")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := admin.ReadTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	games, err := sqlite.Open(sqlite.Options{Path: dir + "/games.db"})
	if err != nil {
		t.Fatal(err)
	}
	defer games.Close()
	if err := games.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	control, err := admin.New(admin.API{
		Dir: dir, Tokens: tokens, Log: slog.New(slog.DiscardHandler), Runner: r, Draining: &draining,
		Global: everywhere,
		RunningProfiles: func() []admin.RunningProfile {
			return []admin.RunningProfile{{
				Name: "club", Restrictions: restrictions, Present: func(context.Context) int { return 1 },
				Stored: func(context.Context, wamble.PublicKey) (wamble.PlayerID, []wamble.Session, bool) {
					return 0,
						nil, true
				},
				Database: "games.db", Reader: games,
				Seek: func(_ context.Context, of profile.Seek, _ int) ([]profile.Present, bool) {
					p := profile.Present{Session: 1, Player: 5, Handle: "Ann"}
					if of.Key != nil {
						p.Key = of.Key[0]
					}
					return []profile.Present{p}, false
				},
				Find: func(_ context.Context, n admin.Named) (admin.Found, error) {
					switch n.Handle {
					case "":
						return admin.Found{Session: 1}, nil
					case "Ann-on-the-phone":
						return admin.Found{Key: wamble.PublicKey{2}}, nil
					}
					return admin.Found{Key: wamble.PublicKey{1}}, nil
				},
				Boards: func(context.Context, profile.BoardQuery, int) []profile.FoundBoard { return nil },
				Tell: func(context.Context, profile.Input) (before, after profile.HostStats, err error) {
					after.Archived, after.Trusted, after.Revoked, after.Renamed = 1, 1, 1, 1
					return before, after, nil
				},
			}}
		},
		Status: func(context.Context) admin.Status {
			return admin.Status{Profiles: []admin.ProfileStatus{{Ready: true}}}
		},
		Cluster:       func(context.Context) admin.Cluster { return admin.Cluster{} },
		Reload:        func(context.Context) (admin.Reloaded, error) { return admin.Reloaded{}, nil },
		DryRunReload:  func(context.Context, bool) (admin.DryRun, error) { return admin.DryRun{}, nil },
		DryRunHandoff: func(context.Context, string) (handoff.Result, error) { return handoff.Result{}, nil },
		HandOff: func(_ context.Context, _ string, w admin.HandoffCaller) error {
			admin.Answer(w.Conn.(*net.UnixConn), handoff.Result{}, nil)
			return nil
		},
		EarlierResult: func(context.Context, string) *handoff.Result { return nil },
	}).OpenControl(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	go control.Serve()

	for _, c := range admin.Commands {
		if via := strings.Fields(c.Help.Via); len(via) > 0 {
			if cmd, rest, err := rootCommand().Find(via); err != nil || len(rest) > 0 || cmd.RunE == nil {
				t.Errorf("%s: there is no 'wamble %s'", c.Name, c.Help.Via)
			}
		}
		if c.Channels&admin.CommandLine == 0 {
			continue
		}
		for line := range strings.Lines(c.Help.Example) {
			var words []string
			for i, part := range strings.Split(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line),
				"< tokens")), "'") {
				if i%2 == 1 { // it was quoted
					words = append(words, part)
				} else {
					words = append(words, strings.Fields(part)...)
				}
			}
			var out, errOut strings.Builder
			if code := run(append(words[1:], "--data", dir), strings.NewReader("0123456789abcdef0123456789abcdef\n"),
				&out, &errOut); code != 0 || out.Len() == 0 {
				t.Errorf("%q: got %d %q %q", line, code, out.String(), errOut.String())
			}
		}
	}
}
