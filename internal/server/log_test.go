package server

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/observe"
	"wamble/internal/profile"
	"wamble/internal/watchtest"
)

// TestNoSecretsInLog: a whole log at the most detailed level contains no token of a player,
// no password and no admin token.
func TestNoSecretsInLog(t *testing.T) {
	t.Parallel()
	const password = "correct-horse-battery"
	f := &file{strings.ReplaceAll(three(`(def log-format "json")`), `"warn"`, `"debug"`)}
	out := &watchtest.Log{}
	s := serve(t, Options{Load: f.load, Log: observe.NewLog(out, loadConf(t, f.text))}, f.text).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 40)
	first := c.players[0].c.Token()
	s.command("ban", admin.Arguments{Whom: wamble.Token{9, 9}.String(), Text: "noise"})
	s.command("announce", admin.Arguments{Text: "hello"})
	s.command("brownout", admin.Arguments{Brownout: profile.Brownout{NoPredictions: true}})
	admin.Ask(t.Context(), s.dir, "kick", admin.Arguments{Whom: first.String() + "x"}, new(admin.Counts)) // a slip of the host
	s.crash("a test")
	until(t, "the profile is back", func() bool { n, _ := s.profiles()[0].shards[0].failures(); return n == 1 })
	c.more(t, 40)
	f.text = strings.Replace(f.text, "(defprofile blue (",
		fmt.Sprintf("(defprofile blue ((def db-pass %q) (def db-host \"127.0.0.1\") (def db-port 1)", password), 1)
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
	if !strings.Contains(log, `"level":"DEBUG"`) {
		t.Error("log-level debug adds nothing")
	}
	if strings.Contains(log, "0001-01-01") {
		t.Error("a ban without an end has one in the log")
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
