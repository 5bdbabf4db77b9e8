package server

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"wamble/internal/handoff"
	"wamble/internal/store/postgres/pgtest"
)

// TestNoHandoff: whatever fault the next process has, players play on, and the command
// reports the fault.
func TestNoHandoff(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, conf(""))
	good := conf("(def port " + i.port + ")")
	i.write("test.conf", good)
	c := gather(t, i.address(), 8)
	c.play()
	script := func(text string) string {
		name := filepath.Join(t.TempDir(), "wamble")
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, taken, _ := net.SplitHostPort(other.Addr().String())
	verdict := `echo '{"protocol":"` + handoff.Protocol + `","version":"next"}'`
	for _, tc := range []struct {
		name, binary, conf, trouble, want string
	}{
		{name: "no such binary", binary: "/nowhere/wamble", want: "no such file"},
		{name: "not a program", binary: script("\x7fELF and nothing more"), want: "check: the new binary refuses"},
		{name: "another program", binary: "/bin/true", want: "is no wamble that can be handed over to"},
		{name: "another protocol", binary: script("#!/bin/sh\necho '{\"protocol\":\"9\"}'\n"), want: "protocol 9"},
		{name: "it vanishes after the check", binary: script("#!/bin/sh\n" + verdict + "\nrm \"$0\"\n"), want: "exec: exec "},
		{name: "bad configuration", conf: "(def port \"x\")", want: "check: the new binary refuses"},
		{name: "another database", conf: good + `(def db-isolated 1)`, want: "let 'wamble reload' do that first"},
		{name: "a port that somebody else has", conf: good + "(def advertise 1) (defprofile default2 ((def port " + taken + ")))", want: "profile default2 cannot be bound"},
		{name: "another port, which somebody else has", conf: conf("(def port " + taken + ")"), want: "profile default cannot be bound"},
		{name: "another address of the same port", conf: strings.Replace(good, `"127.0.0.1"`, `"0.0.0.0"`, 1), want: "let 'wamble reload' do that first"},
		{name: "an admin listener that somebody else has", conf: good + `(def admin-listen "127.0.0.1:` + taken + `")`, want: "the admin listener cannot be bound"},
		{name: "it fails at adoption", trouble: "error", want: "the old one serves again: trouble"},
		{name: "it panics at adoption", trouble: "panic", want: "the old one serves again: panic in the start: trouble"},
		{name: "the state is damaged", trouble: "damage", want: "adopt profile default"},
	} {
		i.write("trouble", tc.trouble)
		if tc.conf != "" {
			i.write("test.conf", tc.conf)
		}
		done, err := i.handOff(tc.binary)
		i.write("test.conf", good)
		switch {
		case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %+v, %v; want %q", tc.name, done, err, tc.want)
		}
		c.more(t, 40)
		if left := i.leftovers(); len(left) > 0 {
			t.Errorf("%s: state files are left: %v", tc.name, left)
		}
	}
	i.write("trouble", "")
	// Signals are handled again after an exec that failed.
	last := i.status().Handoff.At
	if err := i.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	until(t, "a handoff by signal", func() bool {
		s := i.status()
		return s.Handoff != nil && s.Handoff.Failure == "" && s.Handoff.At.After(last)
	})
	i.write("test.conf", good+`(def state-dir "/nowhere")`)
	if _, err := i.handOff(""); err != nil {
		t.Errorf("a good handoff after all: %v", err)
	}
	if _, err := i.handOff(""); err == nil || !strings.Contains(err.Error(), "not ready: state directory") {
		t.Errorf("without a state directory: got %v", err)
	}
	c.more(t, 40)
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestHandoffKilled: the next process is killed, or exits, before it serves. The old one is
// gone by then; the supervisor of the process starts it again, and nothing that was accepted
// is lost.
func TestHandoffKilled(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, staying(t, conf("")))
	c := gather(t, i.address(), 8)
	c.play()
	for _, trouble := range []string{"kill", "exit", "late kill"} {
		c.more(t, 100)
		i.write("trouble", trouble)
		if done, err := i.handOff(""); err == nil {
			t.Errorf("%s: got %+v, want an error", trouble, done)
		}
		if err := i.cmd.Wait(); err == nil {
			t.Errorf("%s: the process has ended well", trouble) // a supervisor would not start it again
		}
		i.write("trouble", "")
		i.launch()
		c.more(t, 100)
		if left := i.leftovers(); len(left) > 0 {
			t.Errorf("%s: state files are left: %v", trouble, left)
		}
	}
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestTwoHandoffs: two at once do no harm; each command gets an answer.
func TestTwoHandoffs(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, conf(""))
	c := gather(t, i.address(), 4)
	c.play()
	for range 3 {
		var both sync.WaitGroup
		var errs [3]error
		for n := range errs {
			both.Go(func() { _, errs[n] = i.handOff("") })
		}
		both.Wait()
		worked := 0
		for _, err := range errs {
			switch {
			case err == nil:
				worked++
			case !strings.Contains(err.Error(), "another handoff is under way"):
				t.Errorf("got %v", err)
			}
		}
		if worked == 0 {
			t.Errorf("none of them worked: %v", errs)
		}
		c.more(t, 40)
	}
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestConsoleHandoff: a handoff from the console is answered, by the next process. The same
// request, sent again, is answered without another handoff.
func TestConsoleHandoff(t *testing.T) {
	t.Parallel()
	i := spawnImage(t, conf(""))
	token, err := os.ReadFile(filepath.Join(i.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	click := func(key, args string) (int, handoff.Result, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+i.status().Admin+"/console/api/act/handoff",
			strings.NewReader(args))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		var result handoff.Result
		json.Unmarshal(body, &result) // an error has none
		return answer.StatusCode, result, string(body)
	}
	code, foreseen, body := click("0", `{"dry_run": true}`)
	if code != http.StatusOK || foreseen.PID == 0 || i.status().Handoff != nil {
		t.Errorf("a rehearsal: got %d %s", code, body)
	}
	code, first, body := click("1", "{}")
	if code != http.StatusOK || first.PID != i.status().PID || !first.At.Equal(i.status().Handoff.At) {
		t.Fatalf("got %d %s; the status has %+v", code, body, i.status().Handoff)
	}
	code, again, body := click("1", "{}")
	if code != http.StatusOK || !again.At.Equal(first.At) || !i.status().Handoff.At.Equal(first.At) {
		t.Errorf("the same request: got %d %s", code, body)
	}
	code, second, body := click("2", "{}")
	if code != http.StatusOK || !second.At.After(first.At) {
		t.Errorf("another request: got %d %s", code, body)
	}
	i.write("test.conf", "(def port \"x\")")
	if code, _, body := click("3", "{}"); code != http.StatusInternalServerError ||
		!strings.Contains(body, "the new binary refuses") {
		t.Errorf("a bad configuration: got %d %s", code, body)
	}
	i.end()
}

// TestHandoffWithoutDatabase: the database is away before, during and after a
// handoff; nothing is lost.
func TestHandoffWithoutDatabase(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	i := spawnImage(t, conf(postgresConf(db)))
	c := gather(t, i.address(), 6)
	c.play()
	c.more(t, 100)
	cluster.Down(t)
	for range 2 {
		c.more(t, 100)
		if _, err := i.handOff(""); err != nil {
			t.Fatal(err)
		}
	}
	c.more(t, 100)
	cluster.Up(t)
	c.more(t, 100)
	c.finish()
	i.end()
	c.verify(t, openPostgres(t, db))
}
