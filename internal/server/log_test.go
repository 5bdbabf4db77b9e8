package server

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/profile"
	"wamble/internal/watchtest"
)

// TestLogLevels: each profile has its level, the format is that of the
// configuration, and a reload changes both.
func TestLogLevels(t *testing.T) {
	text := `(def advertise 1)(def log-level "warn")(defprofile loud ((def log-level "debug")(def port 1)))(defprofile quiet ((def port 2)))`
	out := &watchtest.Log{}
	log := NewLog(out, loadConf(t, text))
	loud, quiet := log.With("profile", "loud"), log.With("profile", "quiet")
	loud.Debug("one")
	quiet.Info("two")
	log.Info("three")
	quiet.Warn("four")
	log.Handler().(*logHandler).Configure(loadConf(t, text+`(def log-level "info")(def log-format "json")`))
	quiet.WithGroup("g").Info("five", "k", 1)
	got := out.String()
	for word, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true} {
		if strings.Contains(got, word) != want {
			t.Errorf("%s is logged: %v, want %v\n%s", word, !want, want, got)
		}
	}
	line := strings.TrimSpace(got[strings.LastIndex(strings.TrimSpace(got), "\n"):])
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["profile"] != "quiet" || fmt.Sprint(fields["g"]) != "map[k:1]" {
		t.Errorf("the last line is %s: %v", line, err)
	}
}

// TestLogFlood: a line that is repeated without end is written a few times, and
// the next one tells how many were left out.
func TestLogFlood(t *testing.T) {
	out := &watchtest.Log{}
	log := NewLog(out, loadConf(t, ""))
	core := log.Handler().(*logHandler).core
	now := time.Unix(1e9, 0)
	core.now = func() time.Time { return now }
	for range 1000 {
		log.Warn("flood")
	}
	log.Warn("something else")
	if got := strings.Count(out.String(), "flood"); got != floodLines {
		t.Errorf("got %d lines, want %d", got, floodLines)
	}
	if !strings.Contains(out.String(), "something else") {
		t.Error("the flood has drowned another line")
	}
	now = now.Add(floodTime)
	log.Warn("flood")
	if want := fmt.Sprintf("left_out=%d", 1000-floodLines); !strings.Contains(out.String(), want) {
		t.Errorf("the log lacks %s", want)
	}
	for i := range 10 * floodKinds {
		log.Warn(fmt.Sprint("line ", i))
	}
	if got := len(core.flood); got > floodKinds {
		t.Errorf("%d kinds are remembered, want at most %d", got, floodKinds)
	}
}

// TestNoSecretsInLog: the log of a whole life at its most talkative tells no
// token of a player, no password and no admin token.
func TestNoSecretsInLog(t *testing.T) {
	const password = "correct-horse-battery"
	f := &file{strings.ReplaceAll(three(`(def log-format "json")`), `"warn"`, `"debug"`)}
	out := &watchtest.Log{}
	s := serve(t, Options{Load: f.load, Log: NewLog(out, loadConf(t, f.text))}, f.text).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 40)
	first := c.players[0].c.Token()
	s.command("ban", host.Arguments{Whom: wamble.Token{9, 9}.String(), Text: "noise"})
	s.command("announce", host.Arguments{Text: "hello"})
	s.command("brownout", host.Arguments{Brownout: profile.Brownout{NoPredictions: true}})
	host.Ask(t.Context(), s.dir, "kick", host.Arguments{Whom: first.String() + "x"}, new(host.Counts)) // a slip of the host
	s.runtime().loop.Load().do(t.Context(), func() { panic("a test") })
	until(t, "the profile is back", func() bool { n, _ := s.keepers()[0].failures(); return n == 1 })
	c.more(t, 40)
	f.text = strings.Replace(f.text, "(defprofile blue (", fmt.Sprintf("(defprofile blue ((def db-pass %q) (def db-host \"127.0.0.1\") (def db-port 1)", password), 1)
	if _, err := s.Reload(t.Context()); err == nil {
		t.Fatal("a database that is away was accepted")
	}
	f.text = strings.Replace(f.text, "(def db-port 1)", "(def db-port", 1)
	if _, err := s.Reload(t.Context()); err == nil {
		t.Fatal("a broken file was accepted")
	}
	c.finish()
	admin, err := os.ReadFile(s.dir + "/admin-token")
	if err != nil {
		t.Fatal(err)
	}
	s.end()
	secrets := []string{password, strings.TrimSpace(string(admin))}
	for _, p := range append(c.players, &player{c: c.players[0].c}) {
		secrets = append(secrets, spellings(p.c.Token())...)
	}
	secrets = append(append(secrets, spellings(first)...), spellings(wamble.Token{9, 9})...)
	log := out.String()
	if strings.Count(log, "\n") < 10 {
		t.Errorf("the log has hardly a line:\n%s", log)
	}
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log tells a secret: %s", secret)
		}
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line is not JSON: %s", line)
		}
	}
}

// spellings are the forms in which a token may get into a log.
func spellings(t wamble.Token) []string {
	return []string{
		t.String(), hex.EncodeToString(t[:]), base64.StdEncoding.EncodeToString(t[:]), fmt.Sprint([16]byte(t)),
	}
}

// TestNoLinesYet: before anything was logged the console gets a list, too.
func TestNoLinesYet(t *testing.T) {
	got, err := json.Marshal((&lastLines{}).all())
	if want := "[]"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
