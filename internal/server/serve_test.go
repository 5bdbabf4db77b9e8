package server

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/tape"
)

// TestPlay: a player says hello, moves, and is switched to another board; their moves are in
// the store when the server has stopped, and they are where they were when it runs again.
func TestPlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := time.Now()
	s := serve(t, Options{Dir: dir, Record: dir + "/tape"}, conf("")).ready()
	c := gather(t, s.address(), 1)
	t.Logf("the first answer came %v after the start with an empty store", time.Since(began))
	p := c.players[0]
	for range 20 {
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	token, board := p.c.Token(), p.c.Board()
	p.c.Close()
	s.end()
	verifySQLite(t, dir, c)
	replays(t, dir+"/tape", 20)

	s = serve(t, Options{Dir: dir}, conf("")).ready()
	again := join(t, s.address(), token)
	if got := again.c.Token(); got != token {
		t.Error("the token has changed")
	}
	if got, want := again.c.Board().ID, board.ID; got != want {
		t.Errorf("on board %d, want %d", got, want)
	}
	if !again.move(t.Context()) {
		t.Error("no move after the restart")
	}
}

// replays checks that a recording of at least so many steps is replayed byte for byte.
func replays(t *testing.T, file string, least int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, first, err := tape.Replay(f)
	if err != nil || first != nil || n < least {
		t.Errorf("%d steps replayed, first difference %v, %v", n, first, err)
	}
}

// verifySQLite compares the players' answers with the database of a stopped server.
func verifySQLite(t testing.TB, dir string, c *crowd) {
	t.Helper()
	store := openSQLite(t, dir)
	c.verify(t, store)
}

// TestHealth: the health pages report that the server runs and serves.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	gather(t, s.address(), 1).players[0].move(t.Context())
	a := s.Addresses()
	for _, tc := range []struct{ url, want string }{
		{"http://" + a.Admin + "/healthz", "200 alive"},
		{"http://" + a.Admin + "/readyz", "200 ready"},
		{"http://" + a.HTTP.String() + "/healthz", "200 alive"},
		{"http://" + a.HTTP.String() + "/readyz", "200 ready"},
		{"http://" + a.HTTP.String() + "/", "200 <!doctype html>"},
		{"http://" + a.HTTP.String() + "/metrics", "404 "},
		{"http://" + a.Admin + "/metrics", "401 "},
	} {
		if got := fetch(t, tc.url); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got %.60q, want %q", tc.url, got, tc.want)
		}
	}
	var page string
	until(t, "the move is counted as sent", func() bool { // which may be after its answer is here
		page = s.metrics()
		return strings.Contains(page, "wamble_move_sent_seconds_count{profile=\"default\"} 1\n")
	})
	for _, want := range []string{
		`wamble_moves_total{profile="default"} 1`, `wamble_up{profile="default"} 1`,
		`wamble_move_sent_seconds_count{profile="default"} 1`, `wamble_boards{profile="default",status="RESERVED"} 1`,
		`wamble_journal_state{state="running"} 1`, `wamble_sessions{profile="default"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, name := range []string{"move_durable_seconds", "move_sent_seconds", "journal_group_frames"} {
		if counted := regexp.MustCompile(`\nwamble_` + name +
			`_count\{profile="default"\} [1-9]`); !counted.MatchString(page) {
			t.Errorf("%s has counted nothing", name)
		}
	}
	if received := regexp.MustCompile(`wamble_datagrams_total\{fate="received",profile="default"\} [1-9]`); !received.MatchString(page) {
		t.Error("no datagram was counted")
	}
}

// TestStatus: the control socket answers, and a directory without a server is reported as
// such.
func TestStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	gather(t, s.address(), 2)
	var got admin.Status
	if err := admin.Ask(t.Context(), dir, "status", nil, &got); err != nil {
		t.Fatal(err)
	}
	p := got.Profiles[0]
	if p.Name != "default" || !p.Ready || p.Sessions != 2 || p.Boards["RESERVED"] != 2 ||
		got.Journal.State != "running" {
		t.Errorf("got %+v", got)
	}
	if err := admin.Ask(t.Context(), dir, "dance", nil, &got); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("an unknown verb: got %v", err)
	}
	if _, err := Open(Options{Dir: dir, Config: loadConf(t, conf(""))}); err == nil ||
		!strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server on the directory: got %v", err)
	}
	s.end()
	if err := admin.Ask(t.Context(), dir, "status", nil, &got); !errors.Is(err, admin.ErrNoServer) {
		t.Errorf("got %v, want ErrNoServer", err)
	}
}

// TestCold: a token that is only in the store is found there, by a load.
func TestCold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	p := join(t, s.address(), wamble.Token{})
	p.move(t.Context())
	token := p.c.Token()
	p.c.Close()
	s.end()
	// Its reservation has ended when the server comes back, and the session leaves memory.
	s = serve(t, Options{Dir: dir}, conf("(def reservation-timeout 1) (def session-timeout 1)")).ready()
	until(t, "the player is only in the store", func() bool { return s.Status(t.Context()).Profiles[0].Sessions == 0 })
	before := s.first().Figures(t.Context()).Stats.Loads
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dial(ctx, s.address(), token)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Token() != token {
		t.Error("a token of the store became a new player")
	}
	if got := s.first().Figures(t.Context()).Stats.Loads - before; got == 0 {
		t.Error("the store was not asked")
	}
}
