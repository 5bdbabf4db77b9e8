package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/handoff"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// standIn is a host with a server that only counts the inputs of the profile blitz.
func standIn(t *testing.T, told *int) *Host {
	t.Helper()
	dir := t.TempDir()
	r, err := runner.Open(pebblestore.At(dir+"/journal", pebblestore.Options{}),
		runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	var draining atomic.Bool
	everywhere, err := ReadRestrictions(r, &draining)
	if err != nil {
		t.Fatal(err)
	}
	restrictions, err := everywhere.Of("blitz")
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	return New(API{
		Dir: dir, Serving: t.Context(), Tokens: tokens, PinMessages: func(time.Time) {},
		Log: slog.New(slog.DiscardHandler), Runner: r, Draining: &draining, Global: everywhere,
		RunningProfiles: func() []RunningProfile {
			return []RunningProfile{{
				Name: "blitz", Restrictions: restrictions, Present: func(context.Context) int { return 7 },
				Stored: func(context.Context, wamble.PublicKey) (wamble.PlayerID, []wamble.Session, bool) {
					return 0,
						nil, true
				},
				Database: "games.db", Reader: nobody{},
				Seek: func(context.Context, profile.Seek, int) ([]profile.Present, bool) {
					return []profile.Present{{Session: 1, Player: 5, Handle: "Ann",
						Address: netip.MustParseAddrPort("192.0.2.7:99")}}, true
				},
				Find: func(_ context.Context, n Named) (Found, error) {
					if rest, ok := strings.CutPrefix(n.Handle, "Ann-"); ok {
						return Found{Key: wamble.PublicKey{rest[0]}}, nil
					}
					return Found{Session: 1}, nil
				},
				Boards: func(context.Context, profile.BoardQuery, int) []profile.FoundBoard { return nil },
				Tell: func(context.Context, profile.Input) (before, after profile.HostStats, err error) {
					*told++
					return before, after, nil
				},
			}}
		},
		Status:       func(context.Context) Status { return Status{PID: 1} },
		Cluster:      func(context.Context) Cluster { return Cluster{Nodes: []NodeStatus{{Name: "a"}}} },
		Counters:     func(context.Context) any { return struct{}{} },
		History:      func(bool) any { return struct{}{} },
		LogTail:      func() []string { return []string{} },
		Reload:       func(context.Context) (Reloaded, error) { return Reloaded{}, nil },
		DryRunReload: func(context.Context, bool) (DryRun, error) { return DryRun{}, nil },
		Options:      func() Effective { return Effective{} },
		HandOff: func(_ context.Context, _ string, w HandoffCaller) error {
			if conn, ok := w.Conn.(*net.UnixConn); ok {
				Answer(conn, handoff.Result{}, nil)
			}
			return nil
		},
		EarlierResult: func(context.Context, string) *handoff.Result { return nil },
	})
}

// nobody is a store without players.
type nobody struct{}

func (nobody) People(context.Context, wamble.PeopleQuery) ([]wamble.Person, error) { return nil, nil }
func (nobody) Player(context.Context, wamble.PublicKey) (wamble.Player, error) {
	return wamble.Player{}, errPlayerNotFound
}
func (nobody) FormerNames(context.Context, wamble.PublicKey) ([]wamble.FormerName, error) {
	return nil, nil
}
func (nobody) SessionByID(context.Context, wamble.SessionID) (wamble.Session, error) {
	return wamble.Session{}, errPlayerNotFound
}
func (nobody) Sessions(context.Context, wamble.PublicKey, int) ([]wamble.Session, error) {
	return nil, nil
}
func (nobody) Reservations(context.Context, wamble.PublicKey, time.Time) ([]wamble.Reservation, error) {
	return nil, nil
}
func (nobody) Trail(context.Context, wamble.SessionID) (wamble.Trail, error) {
	return wamble.Trail{}, nil
}
func (nobody) Leaderboard(context.Context, wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	return wamble.Leaderboard{}, nil
}

// missing reports whether an error says only that a dead letter does not exist.
func missing(text string) bool { return strings.Contains(text, runner.ErrNotFound.Error()) }

// TestLongTexts: a text that players would see only in part is refused, and no player is sent
// any of it.
func TestLongTexts(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	for name, whom := range map[string]string{"announce": "", "kick": "192.0.2.1", "ban": "192.0.2.1"} {
		c := &Commands[slices.IndexFunc(Commands, func(c Command) bool { return c.Name == name })]
		for _, text := range []string{strings.Repeat("a", 89), strings.Repeat("é", 44) + "a", strings.Repeat("a", 90),
			strings.Repeat("é", 45)} {
			told = 0
			args, _ := json.Marshal(map[string]string{"text": text, "whom": whom})
			_, err := h.do(t.Context(), c, Call{Args: args})
			if fit := len(text) <= 89; fit != (err == nil) || fit != (told == 1) {
				t.Errorf("%s with %d bytes: got %v, %d told", name, len(text), err, told)
			}
			if err != nil && !strings.Contains(err.Error(), "at most 89") {
				t.Errorf("%s with %d bytes: %v does not name the limit", name, len(text), err)
			}
		}
	}
}

// TestChannels: every command is reached through each of its channels and through no other,
// the profiles get its inputs, and a change is in the audit log: its actor, its channel and
// its arguments.
func TestChannels(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	control, err := h.OpenControl(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	go control.Serve()
	const token = "a token of the console"
	console := httptest.NewServer(h.Console(func(given string) (Actor, bool) { return Owner, given == token }))
	defer console.Close()
	request := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, console.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := console.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for i := range Commands {
		c := &Commands[i]
		body := c.Doc.Body
		if body == "" {
			body = "{}"
		}
		if c.Name == "runner-checkpoint" {
			body = fmt.Sprintf(`{"dir": %q}`, filepath.Join(t.TempDir(), "copy"))
		}
		told = 0
		want := 0
		var result json.RawMessage
		prepare := func() { // a token to be revoked, and none to be made
			h.Tokens.revoke("ann")
			if c.Name == "token-revoke" {
				h.Tokens.create("ann", Read, time.Now())
			}
		}
		prepare()
		err := Ask(t.Context(), h.Dir, c.Name, json.RawMessage(body), &result)
		if open := c.Channels&Socket != 0; open != (err == nil || missing(err.Error())) {
			t.Errorf("%s at the control socket: got %v", c.Name, err)
		} else if open {
			want++
		}
		method, path, _ := strings.Cut(c.Route(), " ")
		var given map[string]string
		if !c.Changes && json.Unmarshal([]byte(body), &given) == nil {
			query := url.Values{}
			for name, value := range given {
				query.Set(name, value)
			}
			path += "?" + query.Encode()
		}
		prepare()
		code, answer := request(method, path, body)
		if open := c.Channels&Console != 0; open != (code == http.StatusOK || code == http.StatusInternalServerError &&
			missing(answer)) {
			t.Errorf("%s at the console: got %d %s", c.Name, code, answer)
		} else if open {
			want++
		}
		doors := want
		if c.Input == nil && c.Name != "merge" {
			want = 0
		}
		if told != want {
			t.Errorf("%s: the profile was told %d things, want %d", c.Name, told, want)
		}
		lines, err := h.auditTail()
		if err != nil {
			t.Fatal(err)
		}
		var from []string
		for _, line := range lines {
			if line.Command != c.Name || line.Error != "" { // the line before announces the command
				continue
			}
			from = append(from, line.From)
			if len(line.Args) == 0 {
				t.Errorf("%s: its arguments are not in the audit log", c.Name)
			}
		}
		if !c.Changes {
			doors = 0
		}
		if len(from) != doors {
			t.Errorf("%s: in the audit log from %q, want %d lines", c.Name, from, doors)
		}
		self := fmt.Sprintf("control socket, uid %d, gid %d, pid %d", os.Getuid(), os.Getgid(), os.Getpid())
		if len(from) == 2 && (!strings.HasPrefix(from[0], "console, admin (operate) at 127.0.0.1:") ||
			from[1] != self) {
			t.Errorf("%s: in the audit log from %q, want the console and %q", c.Name, from, self)
		}
	}
}

// TestNotServing: a lasting command succeeds for a profile that does not serve players, and
// is kept for it; others are an error.
func TestNotServing(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	blitz := h.RunningProfiles()[0]
	blitz.Tell = func(context.Context, profile.Input) (before, after profile.HostStats, err error) {
		return before, after, loop.ErrNotUp
	}
	h.RunningProfiles = func() []RunningProfile { return []RunningProfile{blitz} }
	for i := range Commands {
		c := &Commands[i]
		if c.Input == nil {
			continue
		}
		_, err := h.do(t.Context(), c, Call{Args: json.RawMessage(c.Doc.Body)})
		if c.Lasting != (err == nil) || err != nil && !errors.Is(err, loop.ErrNotUp) {
			t.Errorf("%s: got %v", c.Name, err)
		}
	}
	again, err := h.Global.Of("blitz")
	if err != nil || !again.Brownout().NoPredictions {
		t.Errorf("after a restart: got %+v, %v", again.Brownout(), err)
	}
	if in := again.Inputs(); len(in) != 2 { // the brown-out, and an announcement that stays; the ban was lifted
		t.Errorf("a profile that starts is told %d things", len(in))
	}
}

// TestCommandPanics: a command that panics is answered with an error and reported,
// and the control socket goes on.
func TestCommandPanics(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	var caught atomic.Int32
	h.ReportPanic = func(error) { caught.Add(1) }
	h.Status = func(context.Context) Status { panic("a test panics in a command") }
	control, err := h.OpenControl(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	go control.Serve()
	for range ControlConns + 1 {
		var result json.RawMessage
		if err := Ask(t.Context(), h.Dir, "status", nil, &result); err == nil ||
			!strings.Contains(err.Error(), "internal error") {
			t.Fatalf("got %v, want an internal error", err)
		}
	}
	if n := caught.Load(); n != ControlConns+1 {
		t.Errorf("%d panics were reported, want %d", n, ControlConns+1)
	}
	var result json.RawMessage
	if err := Ask(t.Context(), h.Dir, "reload", nil, &result); err != nil {
		t.Errorf("another command afterwards: %v", err)
	}
}
