package server

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/observe"
	"wamble/internal/profile"

	"wamble"
)

// ask sends a request to the console of a server.
func (h *here) ask(method, path, body string, header ...string) (code int, answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, "http://"+h.Admin()+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestConsoleChannel: the console needs its token, and refuses requests from other origins.
func TestConsoleChannel(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	bearer := []string{"Authorization", "Bearer " + token}
	asJSON := append(bearer, "Content-Type", "application/json")
	const say = `{"text":"hello"}`
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
	}{
		{"the page", "GET", "/console/", "", nil, 200},
		{"no token", "GET", "/console/api/status", "", nil, 401},
		{"another token", "GET", "/console/api/status", "", []string{"Authorization", "Bearer " + strings.Repeat("0", 64)}, 401},
		{"a password that a browser remembers", "GET", "/console/api/status", "", []string{"Authorization", "Basic " + token}, 401},
		{"the token", "GET", "/console/api/status", "", bearer, 200},
		{"the token from another page", "GET", "/console/api/status", "", append(bearer, "Origin", "http://evil.example"), 403},
		{"act", "POST", "/console/api/act/announce", say, asJSON, 200},
		{"act without a token", "POST", "/console/api/act/announce", say, []string{"Content-Type", "application/json"}, 401},
		{"act by a form", "POST", "/console/api/act/announce", say, append(bearer, "Content-Type", "text/plain"), 415},
		{"act by a link", "GET", "/console/api/act/announce", "", bearer, 404},
		{"act without JSON", "POST", "/console/api/act/announce", "hello", asJSON, 400},
		{"no such act", "POST", "/console/api/act/status", "{}", asJSON, 404},
		{"an act that fails", "POST", "/console/api/act/announce", "{}", asJSON, 500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, answer := s.ask(tc.method, tc.path, tc.body, tc.header...)
			if code != tc.want {
				t.Errorf("got %d %s, want %d", code, answer, tc.want)
			}
		})
	}
}

// TestAudit: commands through the console are in the audit log, without tokens, and are
// refused if they cannot be logged.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	headers := []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	player := wamble.Token{1, 2, 3}
	slip := player.String()[:21] + "!"
	s.ask("POST", "/console/api/act/announce", `{"text":"hello"}`, headers...)
	s.ask("POST", "/console/api/act/kick", `{"whom":"`+player.String()+`"}`, headers...)
	s.ask("POST", "/console/api/act/unban", fmt.Sprintf(`{"WHOM":"%x"}`, player[:]), headers...)
	s.ask("POST", "/console/api/act/unban", `{"whom":"192.0.2.0/24"}`, headers...)
	s.ask("POST", "/console/api/act/kick", `{"whom":"`+slip+`"}`, headers...)
	_, answer := s.ask("GET", "/console/api/audit", "", headers...)
	var entries []admin.Audited
	if err := json.Unmarshal([]byte(answer), &entries); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range slices.Backward(entries) {
		got = append(got, d.Command+" "+string(d.Args)+" "+d.Error)
	}
	want := []string{`announce {"text":"hello"} `, `kick {"whom":"(a token)"} `, `unban {"WHOM":"(a token)"} `,
		`unban {"whom":"192.0.2.0/24"} `, `kick {"whom":"(nobody)"} `}
	if len(got) != 6 || !slices.Equal(got[:5], want) || entries[0].Error == "" {
		t.Errorf("the audit log has %q, want %q and the failure", got, want)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{player.String(), hex.EncodeToString(player[:]), slip[:21]} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the audit log has a token: %s", secret)
		}
	}

	if err := os.Remove(filepath.Join(s.dir, "audit.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "audit.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	if code, answer := s.ask("POST", "/console/api/act/announce", `{"text":"unnoted"}`, headers...); code != 500 {
		t.Errorf("an act that cannot be noted: got %d %s, want 500", code, answer)
	}
	if log := strings.Join(s.logTail(), "\n"); strings.Contains(log, "unnoted") {
		t.Error("it was done all the same")
	}
}

// TestBans: the console lists the bans in force, until they end or are lifted.
func TestBans(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	headers := []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	list := func() string {
		t.Helper()
		code, answer := s.ask("GET", "/console/api/bans", "", headers...)
		if code != http.StatusOK {
			t.Fatalf("got %d %s", code, answer)
		}
		return answer
	}
	act := func(verb, args string) {
		t.Helper()
		if code, answer := s.ask("POST", "/console/api/act/"+verb, args, headers...); code != http.StatusOK {
			t.Fatalf("%s %s: got %d %s", verb, args, code, answer)
		}
	}
	act("ban", `{"whom":"192.0.2.0/24","text":"spam"}`)
	act("ban", `{"whom":"198.51.100.7","until":"2020-01-01T00:00:00Z"}`)
	if got, want := list(), `[{"profile":"default","whom":"192.0.2.0/24","text":"spam","by":"console, admin (operate) at 127.0.0.1:`; !strings.HasPrefix(got, want) || strings.Count(got, "whom") != 1 {
		t.Errorf("got %s, want %s…", got, want)
	}
	act("unban", `{"whom":"192.0.2.0/24"}`)
	if got, want := list(), `[]`; got != want {
		t.Errorf("after it was lifted: got %s, want %s", got, want)
	}
}

// TestFindBoards: the host finds boards by number, by holder and by state.
func TestFindBoards(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	p := join(t, s.address(), wamble.Token{})
	find := func(query string) (list []profile.FoundBoard) {
		t.Helper()
		code, text := s.ask("GET", "/console/api/boards?query="+query, "", "Authorization", "Bearer "+token)
		if code != 200 {
			t.Fatalf("%s: %d %s", query, code, text)
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	held := find("reserved")
	if len(held) != 1 || held[0].Holder == 0 || held[0].Board != p.c.Board().ID {
		t.Fatalf("one player holds %+v", held)
	}
	if all := find(""); len(all) < 8 {
		t.Errorf("there are %d boards", len(all))
	}
	if got := find(fmt.Sprint(held[0].Board)); !slices.ContainsFunc(got,
		func(b profile.FoundBoard) bool { return b.Board == held[0].Board }) {
		t.Errorf("board %d is found as %+v", held[0].Board, got)
	}
	if got := find(fmt.Sprint(held[0].Holder)); !slices.ContainsFunc(got,
		func(b profile.FoundBoard) bool { return b.Holder == held[0].Holder }) {
		t.Errorf("the board of session %d is found as %+v", held[0].Holder, got)
	}
	for _, query := range []string{"frozen", "nobody", "987654"} {
		if got := find(query); len(got) != 0 {
			t.Errorf("%s: %+v", query, got)
		}
	}
	if code, text := s.ask("GET", "/console/api/history?range=days", "", "Authorization",
		"Bearer "+token); code != 200 || !strings.Contains(text, `"every":60`) {
		t.Errorf("the history of days: %d %s", code, text)
	}
	if code, _ := s.ask("GET", "/console/api/history?range=years", "", "Authorization", "Bearer "+token); code == 200 {
		t.Error("there is a history of years")
	}
}

// TestConsoleStream: a console is sent what it shows, and again what has changed, until its
// token is revoked. A handoff, which waits for requests, does not wait for it.
func TestConsoleStream(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	var made struct{ Token string }
	if err := admin.Ask(t.Context(), s.dir, "token-create", admin.Arguments{Name: "ann", Role: "read"},
		&made); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Admin()+"/console/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+made.Token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%d, %s", resp.StatusCode, got)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	next := func(name string) string {
		t.Helper()
		for event := ""; lines.Scan(); {
			if word, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				event = word
			} else if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && event == name {
				return text
			}
		}
		t.Fatalf("the stream has ended before %s: %v", name, lines.Err())
		return ""
	}
	for _, name := range []string{"status", "vitals", "log", "audit", "bans", "announcements", "dead-letters",
		"config"} {
		if text := next(name); !json.Valid([]byte(text)) {
			t.Errorf("%s: %.100s", name, text)
		}
	}
	s.command("ban", admin.Arguments{Whom: "192.0.2.7"})
	if got := next("bans"); !strings.Contains(got, "192.0.2.7") {
		t.Errorf("bans: %s", got)
	}
	if err := s.adminListener().Pause(t.Context(), 0); err != nil {
		t.Errorf("the admin listener does not come to rest: %v", err)
	}
	s.adminListener().Resume()
	if err := admin.Ask(t.Context(), s.dir, "token-revoke", admin.Arguments{Name: "ann"}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	// A sign of life is sent every second; some may have been sent before.
	for signs := 0; lines.Scan(); {
		if lines.Text() == ":" {
			signs++
		}
		if signs == 60 {
			t.Fatal("a revoked token reads on")
		}
	}
}
