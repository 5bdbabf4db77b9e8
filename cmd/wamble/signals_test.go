package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/watchtest"
)

// served is a server in a process of its own.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	data string
	said *watchtest.Log
	done chan error
}

const signalsConf = `(def listen-address "127.0.0.1") (def port 0) (def admin-listen "") (def disk-reserve-mb 0) (def shutdown-timeout 3600)`

func startServed(t *testing.T, data string, more ...string) *served {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(t.TempDir(), "test.conf")
	if err := os.WriteFile(conf, []byte(signalsConf+strings.Join(more, " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, data: data, said: &watchtest.Log{}, done: make(chan error, 1)}
	s.cmd = &exec.Cmd{Path: exe, Args: []string{"wamble", "serve", "--config", conf, "--data", data}, Stderr: s.said}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	return s
}

func (s *served) until(what string, ok func() bool) {
	s.t.Helper()
	watchtest.Until(s.t, what, ok, s.said)
}

// ready waits until players are served.
func (s *served) ready() (status admin.Status) {
	s.t.Helper()
	s.until("it is ready", func() bool {
		return admin.Ask(s.t.Context(), s.data, "status", nil, &status) == nil && status.Ready()
	})
	return status
}

// hello says hello with a token, and returns the token of the answer.
func (s *served) hello(token wamble.Token) wamble.Token {
	s.t.Helper()
	status := s.ready()
	c, err := (&client.Dialer{Token: token}).Dial(s.t.Context(), "udp://"+status.Profiles[0].UDP)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	return c.Token()
}

// TestSecondSignal: a server that cannot bring its journal to the database waits when it is
// told to stop. At the second signal it ends at once, and has lost nothing.
func TestSecondSignal(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := startServed(t, data)
	s.hello(wamble.Token{})
	db, err := sql.Open("sqlite", filepath.Join(data, "games.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE") // no other connection can write
	}
	if err != nil {
		t.Fatal(err)
	}
	token := s.hello(wamble.Token{})

	s.cmd.Process.Signal(syscall.SIGTERM)
	s.until("it says that it stops",
		func() bool { return strings.Contains(s.said.String(), "wamble: stopping in order") })
	select {
	case err := <-s.done:
		t.Fatalf("it did not wait for the database: %v\n%s", err, s.said)
	default:
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := <-s.done; !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", err)
	}
	if !strings.Contains(s.said.String(), "wamble: ended at once\n") {
		t.Errorf("it said:\n%s", s.said)
	}

	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	again := startServed(t, data)
	if got := again.hello(token); got != token {
		t.Error("the player of the last second is forgotten")
	}
	again.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-again.done; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// audited returns the lines of the audit log: actor and command. None has failed.
func (s *served) audited() (lines []string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "audit.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var a admin.Audited
		if err := json.Unmarshal(line, &a); err != nil || a.Error != "" {
			s.t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, a.From+": "+a.Command)
	}
	return lines
}

// TestAuditNamesActors: a signal's command is in the audit log under the signal's name, and
// one from the control socket under the user and the process.
func TestAuditNamesActors(t *testing.T) {
	t.Parallel()
	s := startServed(t, filepath.Join(t.TempDir(), "data"))
	s.ready()
	if err := admin.Ask(t.Context(), s.data, "drain", admin.Arguments{On: true}, new(any)); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("control socket, uid %d, gid %d, pid %d: drain", os.Getuid(), os.Getgid(),
		os.Getpid())}
	check := func() {
		t.Helper()
		if got := s.audited(); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q\n%s", got, want, s.said)
		}
	}
	check()
	for _, c := range []struct {
		signal syscall.Signal
		line   string
	}{{syscall.SIGHUP, "signal SIGHUP: reload"}, {syscall.SIGUSR2, "signal SIGUSR2: handoff"}} {
		want = append(want, c.line)
		if err := s.cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		s.until(c.line, func() bool { return len(s.audited()) == len(want) })
		check()
	}
	s.until("it was handed over", func() bool { return s.ready().Handoff != nil })
	want = append(want, "signal SIGTERM or SIGINT: stop")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("it ended with %v\n%s", err, s.said)
	}
	check()
}
