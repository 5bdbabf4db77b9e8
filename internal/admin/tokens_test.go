package admin

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// TestRoles: each command needs its role, and what is done is in the audit log with the name
// of the token.
func TestRoles(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	tokens := map[Role]string{}
	for role, name := range map[Role]string{Read: "reader", Moderate: "moderator", Operate: "operator"} {
		token, err := h.Tokens.create(name, role, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = token
	}
	console := h.Console(h.Tokens.Who)
	request := func(c *Command, token string) int {
		method, path, _ := strings.Cut(c.Route(), " ")
		r := httptest.NewRequest(method, path, strings.NewReader(`{}`))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		console.ServeHTTP(w, r)
		return w.Code
	}
	for i := range Commands {
		c := &Commands[i]
		if c.Channels&Console == 0 {
			continue
		}
		for role, token := range tokens {
			if got, may := request(c, token), role >= c.needs(); (got != http.StatusForbidden) != may {
				t.Errorf("%s with the role %s: got %d", c.Name, role, got)
			}
		}
		if got := request(c, "none"); got != http.StatusUnauthorized {
			t.Errorf("%s without a token: got %d", c.Name, got)
		}
	}
	for name, want := range map[string]Role{"status": Read, "kick": Moderate, "ban": Moderate, "announce": Moderate,
		"erase": Operate, "handoff": Operate, "token-create": Operate, "runner-delete": Operate} {
		if got := h.command(name).needs(); got != want {
			t.Errorf("%s needs %s, want %s", name, got, want)
		}
	}
	for role, want := range map[Role]int{Read: http.StatusForbidden, Operate: http.StatusOK} {
		r := httptest.NewRequest("POST", journalAdminPath+"/pause", strings.NewReader("queue=1"))
		r.Header.Set("Authorization", "Bearer "+tokens[role])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		console.ServeHTTP(w, r)
		if role == Read && w.Code != want {
			t.Errorf("a reader pauses a queue: got %d", w.Code)
		}
	}
	lines, err := h.auditTail()
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, line := range lines {
		if line.Command == "kick" && strings.HasPrefix(line.From, "console, moderator (moderate) at ") {
			named = true
		}
		if strings.Contains(line.From, "reader") {
			t.Errorf("a reader has done %s", line.Command)
		}
	}
	if !named {
		t.Error("the audit log does not name who kicked")
	}
}

// TestReadersLearnNoToken: nobody finds a player by a part of a token; who may only read does
// not find one by a whole token either; and a search by a whole one is in the audit log.
func TestReadersLearnNoToken(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	var sought []profile.Seek
	running := h.RunningProfiles()
	seek := running[0].Seek
	running[0].Seek = func(ctx context.Context, of profile.Seek, most int) ([]profile.Present, bool) {
		sought = append(sought, of)
		return seek(ctx, of, most)
	}
	h.RunningProfiles = func() []RunningProfile { return running }
	tokens := map[Role]string{}
	for _, role := range []Role{Read, Moderate, Operate} {
		token, err := h.Tokens.create(role.String(), role, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = token
	}
	console := h.Console(h.Tokens.Who)
	get := func(role Role, path string) (int, string) {
		r := httptest.NewRequest("GET", "/console/api/"+path, nil)
		r.Header.Set("Authorization", "Bearer "+tokens[role])
		w := httptest.NewRecorder()
		console.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	player := wamble.Token{0xd1, 0xce, 7: 0x99, 15: 0x42}
	digits, text := hex.EncodeToString(player[:]), player.String()

	for role := range tokens {
		for n := 1; n < len(text); n++ {
			sought = nil
			if code, body := get(role, "players?query=token:"+text[:n]); code == http.StatusOK ||
				strings.Contains(body, text[:n]) && n > 3 || sought != nil {
				t.Errorf("%d characters of a token, as %s: got %d, sought %v", n, role, code, sought)
			}
			get(role, "players?query="+text[:n])
			for _, of := range sought {
				if (of.Token != wamble.Token{} || of.Hash != wamble.TokenHash{}) {
					t.Errorf("%d characters of a text are sought as a token", n)
				}
			}
		}
	}
	for _, path := range []string{"players?query=", "players?query=token:", "player?whom="} {
		for _, name := range []string{text, digits, fmt.Sprintf("hash:%x", player.Hash())} {
			if strings.HasPrefix(path, "player?") && strings.HasPrefix(name, "hash:") {
				continue // a hash names nobody there
			}
			for role, want := range map[Role]int{Read: http.StatusForbidden, Moderate: http.StatusForbidden,
				Operate: http.StatusOK} {
				if code, body := get(role, path+name); code != want {
					t.Errorf("%s%.8s as %s: got %d, want %d: %s", path, name, role, code, want, body)
				}
			}
		}
	}
	if code, _ := get(Read, "players?query=key:"+digits); code != http.StatusOK {
		t.Errorf("a reader looks for a key: got %d", code)
	}
	lines, err := os.ReadFile(auditPath(h.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(lines, []byte("console, operate (operate) at ")); n != 8 ||
		bytes.Contains(lines, []byte(text)) || bytes.Contains(lines, []byte(digits)) {
		t.Errorf("%d searches by token are in the audit log: %s", n, lines)
	}

	// Whatever else takes a token in a command that reads, says so.
	for i := range Commands {
		c := &Commands[i]
		for _, arg := range c.Args {
			if c.Changes || arg.Check == nil || arg.At == nil || c.Channels&Console == 0 || c.Name == "boards" {
				continue // boards compares its query with names alone
			}
			var a Arguments
			if value, ok := arg.At(&a).(*string); ok {
				*value = text
				if arg.Check(&a) == nil && (arg.Token == nil || !arg.Token(&a)) {
					t.Errorf("%s takes a token as its %s, and readers may give it", c.Name, arg.Name)
				}
			}
		}
	}
}

// TestTokens: tokens are valid until they are revoked, after a restart too, and stored as
// hashes.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	tokens, err := ReadTokens(dir)
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.create("ann", Moderate, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", Owner.Name} {
		if _, err := tokens.create(name, Read, time.Now()); err == nil {
			t.Errorf("there are two tokens of %s", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "admin-tokens.json"))
	if err != nil || bytes.Contains(text, []byte(token)) {
		t.Errorf("the file has the token itself (%v)", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "admin-tokens.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v %v", info.Mode(), err)
	}
	if tokens, err = ReadTokens(dir); err != nil {
		t.Fatal(err)
	}
	if got, ok := tokens.Who(token); !ok || got != (Actor{"ann", Moderate}) {
		t.Errorf("got %v, %t", got, ok)
	}
	if list := tokens.all(); len(list) != 1 || list[0].Hash != "" {
		t.Errorf("got %v", list)
	}
	if err := tokens.revoke("ann"); err != nil {
		t.Fatal(err)
	}
	if _, ok := tokens.Who(token); ok {
		t.Error("a revoked token opens the console")
	}
	if tokens.revoke("ann") == nil {
		t.Error("a token was revoked twice")
	}
}

// TestAuditRotates: the audit log begins a new file when it is large, keeps a bounded number,
// and is read across them.
func TestAuditRotates(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	path := auditPath(h.Dir)
	if err := h.RunAudited("signal SIGHUP", "reload", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	grow := func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(bytes.Repeat([]byte(" "), auditSize), "\n{\"verb\":\"old\"}\n"...)); err != nil {
			t.Fatal(err)
		}
	}
	for range auditFiles + 3 {
		grow()
		if err := h.RunAudited("signal SIGHUP", "reload", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(path + "*")
	if err != nil || len(found) != auditFiles+1 {
		t.Errorf("there are the files %q", found)
	}
	lines, err := h.auditTail()
	if err != nil || len(lines) != 2 || lines[0].Command != "reload" || lines[0].From != "signal SIGHUP" ||
		lines[1].Command != "old" {
		t.Errorf("got %v, %v", lines, err)
	}
}
