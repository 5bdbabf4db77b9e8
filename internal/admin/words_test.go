package admin

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/config"
)

// TestCommandLog: the log of a command names the player it is about, but never a token.
func TestCommandLog(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	var log bytes.Buffer
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	token := wamble.Token{9}.String()
	for _, c := range []struct{ name, args, want string }{
		{"ban", `{"whom": "192.0.2.0/24"}`, "whom=192.0.2.0/24"},
		{"kick", `{"whom": "` + token + `"}`, `whom="(a token)"`},
		{"rename", `{"whom": "Ann-1", "name": "Bob"}`, "whom=Ann-1 name=Bob"},
		{"unban", `{"whom": "192.0.2.0/24"}`, "whom=192.0.2.0/24"},
	} {
		log.Reset()
		if _, err := h.do(t.Context(), h.command(c.name), Call{Args: []byte(c.args)}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := log.String(); !strings.Contains(got, c.want) || strings.Contains(got, token) {
			t.Errorf("%s: the log says %s", c.name, got)
		}
	}
}

// TestByName: commands that take a key take the name of its player, too.
func TestByName(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	if _, err := h.doAudited(t.Context(), h.command("ban"), Call{Args: []byte(`{"whom": "Ann-1"}`)},
		"a test"); err != nil {
		t.Fatal(err)
	}
	key := wamble.PublicKey{'1'}
	if noted, err := h.auditTail(); err != nil || len(noted) != 1 ||
		!strings.Contains(string(noted[0].Args), hex.EncodeToString(key[:])) {
		t.Errorf("the audit log: %+v, %v", noted, err)
	}
	if got := bansOf(h.RunningProfiles()); len(got) != 1 || got[0].Whom != hex.EncodeToString(key[:]) {
		t.Errorf("bans: %+v", got)
	}
	if _, err := h.do(t.Context(), h.command("unban"), Call{Args: []byte(`{"whom": "Ann-1"}`)}); err != nil ||
		len(bansOf(h.RunningProfiles())) != 0 {
		t.Errorf("unban: %v, %+v", err, bansOf(h.RunningProfiles()))
	}
	for _, name := range []string{"ban", "kick", "erase", "sessions"} {
		_, err := h.do(t.Context(), h.command(name), Call{Args: []byte(`{"whom": "Bob"}`)})
		if err == nil || !strings.Contains(err.Error(), "nobody has this name") ||
			strings.Contains(err.Error(), "Bob") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindWords: an error names one fault, and what to do.
func TestKindWords(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	_, err := h.do(t.Context(), h.command("merge"), Call{Args: []byte(`{"whom": "17", "into": "Ann-1"}`)})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("merge: %v", err)
	}
	var out strings.Builder
	if err := (&DryRun{Refused: []string{"a port is taken"}}).print(&out); !errors.Is(err, ErrRefused) ||
		out.String() != "a reload would be refused: a port is taken\n" {
		t.Errorf("a dry run: %v, %q", err, &out)
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"open": 0o644, "private": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"missing": "install -m 0640", "open": "chmod o=", "private": ""} {
		p := &diagnosis{}
		p.password("db-pass-file", config.Database{PassFile: filepath.Join(dir, name)})
		if got := p.findings[0].Advice; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %+v", name, p.findings)
		}
	}
}
