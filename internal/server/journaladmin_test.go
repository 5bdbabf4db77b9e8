package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/journal"
	"wamble/internal/observe"
	"wamble/runner"
	runneradmin "wamble/runner/admin"
)

// TestJournalAdmin: the console serves the runner's pages to holders of the token only; their
// changes are in the audit log, and a change that would corrupt the journal is refused. The
// control socket does the same.
func TestJournalAdmin(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	number, ok := journal.NumberOf(s.runner, "default")
	if !ok {
		t.Fatal("the profile has no number")
	}
	queue := fmt.Sprint(number)
	for _, id := range []string{"junk-1", "junk-2"} { // for no profile: they end as dead letters
		if _, err := s.runner.Post(t.Context(),
			&runner.Message{To: uint64(number), ID: []byte(id), Payload: []byte("secret")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.runner.Post(t.Context(), &runner.Message{To: 99, ID: []byte("i")}); err != nil { // for an unknown recipient: it waits
		t.Fatal(err)
	}
	until(t, "two dead letters", func() bool { return s.runner.Stats().DeadLetters == 2 })

	const desk = "/console/runner/"
	asJSON := []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
	form := []string{"Authorization", "Bearer " + token, "Content-Type", "application/x-www-form-urlencoded"}
	args := url.Values{"queue": {queue}, "home": {"true"}}.Encode()
	for _, tc := range []struct {
		name, method, path, body string
		header                   []string
		want                     int
		has                      string
	}{
		{"no token", "GET", desk, "", nil, 401, ""},
		{"no token for a list", "GET", desk + "api/list?queue=" + queue, "", nil, 401, ""},
		{"another token", "GET", desk, "", []string{"Authorization", "Bearer " + strings.Repeat("0", 64)}, 401, ""},
		{"no token to change", "POST", desk + "api/pause", `{"queue":"` + queue + `"}`, []string{"Content-Type", "application/json"}, 401, ""},
		{"another page", "POST", desk + "act/pause", args, append(form, "Origin", "http://evil.example"), 403, ""},
		{"a page of another site", "POST", desk + "act/pause", args, append(form, "Sec-Fetch-Site", "cross-site"), 403, ""},
		{"the page", "GET", desk, "", asJSON, 200, "profile default"},
		{"its style", "GET", desk + "style.css", "", asJSON, 200, "prefers-color-scheme"},
		{"stats", "GET", desk + "api/stats", "", asJSON, 200, `"dead_letters":2`},
		{"dead letters without what they hold", "GET", desk + "?queue=" + queue + "&state=dead", "", asJSON, 200, "junk-1"},
		{"one", "GET", desk + "api/show?state=dead&number=1&queue=" + queue, "", asJSON, 200, `"payload":"6 bytes"`},
		{"pause", "POST", desk + "api/pause", `{"queue":"` + queue + `"}`, asJSON, 200, ""},
		{"resume by a form", "POST", desk + "act/resume", args, form, 200, "Done: resume."},
		{"retry", "POST", desk + "api/retry", `{"queue":"` + queue + `","state":"dead","number":1}`, asJSON, 200, ""},
		{"delete", "POST", desk + "api/delete", `{"queue":"` + queue + `","state":"dead","number":2}`, asJSON, 200, ""},
		{"delete what waits", "POST", desk + "api/delete", `{"queue":"99","id":"i"}`, asJSON, 403, "only dead letters"},
		{"delete what is not there", "POST", desk + "api/delete", `{"queue":"` + queue + `","id":"i"}`, asJSON, 404, "not found"},
		{"drain", "POST", desk + "api/drain", `{"queue":"` + queue + `"}`, asJSON, 403, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, answer := s.ask(tc.method, tc.path, tc.body, tc.header...)
			if code != tc.want || !strings.Contains(answer, tc.has) || strings.Contains(answer, "secret") {
				t.Errorf("got %d %s, want %d with %q", code, answer, tc.want, tc.has)
			}
		})
	}

	for _, tc := range []struct {
		verb string
		args runneradmin.Args
		want string // of the error
	}{
		{"stats", runneradmin.Args{}, ""},
		{"list", runneradmin.Args{Queue: queue, State: "dead"}, ""},
		{"pause", runneradmin.Args{Queue: queue}, ""},
		{"resume", runneradmin.Args{Queue: queue}, ""},
		{"pause", runneradmin.Args{Queue: "nobody"}, "not found"},
		{"delete", runneradmin.Args{Queue: "99", ID: "i"}, "only dead letters"},
		{"retry", runneradmin.Args{Queue: "99", ID: "i"}, "only dead letters"},
		{"delete", runneradmin.Args{Queue: queue, State: "dead", All: true}, ""},
		{"drain", runneradmin.Args{Queue: queue}, "does not know"},
	} {
		var result json.RawMessage
		err := admin.Ask(t.Context(), s.dir, "runner-"+tc.verb, tc.args, &result)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %+v at the control socket: %v, want %q", tc.verb, tc.args, err, tc.want)
		}
	}
	_, text := s.ask("GET", "/console/api/audit", "", asJSON...)
	for _, want := range []string{`"verb":"runner-pause"`, `"verb":"runner-resume"`, `"verb":"runner-retry"`,
		`"verb":"runner-delete"`, `"from":"console, admin (operate) at 127.0.0.1:`, `"from":"control socket`} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit log has no %s: %s", want, text)
		}
	}
}
