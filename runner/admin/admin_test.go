package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/admin"
	"wamble/runner/memstore"
)

// rig is a runner with a queue "mails": one waiting message, one that waits for its next
// attempt, two dead letters and one finished message.
type rig struct {
	*testing.T
	r      *runner.Runner
	server *httptest.Server
	worker *runner.Worker
}

func everything(*http.Request, bool) bool { return true }

func newRig(t *testing.T, o admin.Options) *rig {
	t.Helper()
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	mails, err := r.Queue(t.Context(), "mails")
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.NewWorker(mails,
		runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
			switch {
			case strings.HasPrefix(string(d.ID), "dead"):
				return runner.Discard(errors.New("no such <address>"))
			case strings.HasPrefix(string(d.ID), "busy"):
				return runner.Retry(errors.New("away"), time.Hour)
			}
			return d.SetResult([]byte(`{"sent":true}`))
		}})
	if err != nil {
		t.Fatal(err)
	}
	v := &rig{T: t, r: r, worker: w}
	for _, id := range []string{"good", "busy", "dead-1", "dead-2"} {
		v.post(mails, id)
	}
	v.tick()
	v.post(mails, "new")
	mux := http.NewServeMux()
	mux.Handle("/jobs/", http.StripPrefix("/jobs", admin.New(r, o)))
	v.server = httptest.NewServer(mux)
	t.Cleanup(v.server.Close)
	return v
}

func (v *rig) post(queue uint64, id string) {
	v.Helper()
	if _, err := v.r.Post(v.Context(),
		&runner.Message{To: queue, ID: []byte(id), Payload: []byte(`{"to":"` + id + `"}`)}); err != nil {
		v.Fatal(err)
	}
}

func (v *rig) tick() {
	v.Helper()
	if _, err := v.worker.Tick(v.Context()); err != nil {
		v.Fatal(err)
	}
}

// ask sends a request and returns status and body.
func (v *rig) ask(method, path, kind, body string, headers ...string) (int, string) {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.server.URL+"/jobs/"+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	if resp.StatusCode == http.StatusSeeOther {
		return resp.StatusCode, resp.Header.Get("Location")
	}
	return resp.StatusCode, string(text)
}

func (v *rig) get(path string) string {
	v.Helper()
	code, text := v.ask("GET", path, "", "")
	if code != http.StatusOK {
		v.Fatalf("GET %s: %d %s", path, code, text)
	}
	return text
}

func (v *rig) act(verb, args string, want int) string {
	v.Helper()
	code, text := v.ask("POST", "api/"+verb, "application/json", args)
	if code != want {
		v.Fatalf("POST %s %s: %d %s, want %d", verb, args, code, text, want)
	}
	return text
}

func (v *rig) list(state string) []admin.Message {
	v.Helper()
	var l admin.List
	if err := json.Unmarshal([]byte(v.get("api/list?queue=mails&state="+state)), &l); err != nil {
		v.Fatal(err)
	}
	return l.Messages
}

// states returns the messages of a list, as ID:STATE.
func (v *rig) states(state string) string {
	v.Helper()
	var out []string
	for _, m := range v.list(state) {
		out = append(out, m.ID+":"+m.State)
	}
	return strings.Join(out, " ")
}

func (v *rig) check(what, got, want string) {
	v.Helper()
	if got != want {
		v.Errorf("%s: got %s, want %s", what, got, want)
	}
}

// TestLook: the listing verbs, over JSON.
func TestLook(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	v.check("inbox", v.states("waiting"), "busy:retrying new:waiting")
	v.check("dead letters", v.states("dead"), "dead-1:dead dead-2:dead")
	v.check("finished", v.states("done"), "good:done")
	v.check("scheduled", v.states("scheduled"), "")
	var s admin.Stats
	if err := json.Unmarshal([]byte(v.get("api/stats")), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Queues) != 1 || s.State != "running" || s.DeadLetters != 2 {
		t.Fatalf("got %+v", s)
	}
	q := s.Queues[0]
	v.check("queue", fmt.Sprint(q.Name, q.Depth, q.Retrying, q.Successes, q.Retries, q.Buried),
		fmt.Sprint("mails", 2, 1, 1, 1, 2))
	for _, path := range []string{"api/show?queue=mails&id=good", "api/show?queue=mails&state=done&number=1"} {
		var m admin.Message
		if err := json.Unmarshal([]byte(v.get(path)), &m); err != nil {
			t.Fatal(err)
		}
		v.check(path, fmt.Sprint(m.ID, m.State, m.Result, len(m.Runs)), fmt.Sprint("good", "done", `{"sent":true}`, 1))
	}
	for path, want := range map[string]int{
		"api/show?queue=mails&id=nobody": 404, "api/list?queue=nobody": 404, "api/list?queue=mails&state=lost": 400,
		"api/show?queue=mails": 400, "api/list?queue=mails&from=x": 400, "api/nothing": 404,
		"?queue=nobody": 404, "?queue=mails&id=nobody": 404, "api/retry?queue=mails&id=busy": 405,
	} {
		if code, text := v.ask("GET", path, "", ""); code != want {
			t.Errorf("GET %s: %d %s, want %d", path, code, text, want)
		}
	}
}

// TestVerbs carries out every change over JSON.
func TestVerbs(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	v.act("pause", `{"queue":"mails"}`, 200)
	v.tick()
	v.check("while paused", v.states("waiting"), "busy:retrying new:waiting")
	v.act("resume", `{"queue":"mails"}`, 200)
	v.tick()
	v.check("resumed", v.states("waiting"), "busy:retrying")

	v.act("retry", `{"queue":"mails","id":"busy"}`, 200)
	v.check("retried", v.states("waiting"), "busy:waiting")
	v.act("delete", `{"queue":"mails","id":"busy"}`, 200)
	v.check("deleted", v.states("waiting"), "")

	dead := v.list("dead")
	v.act("retry", fmt.Sprintf(`{"queue":"mails","state":"dead","number":%d}`, dead[0].Number), 200)
	v.check("retried from the dead", v.states("waiting"), "dead-1:waiting")
	v.act("delete", fmt.Sprintf(`{"queue":"mails","state":"dead","number":%d}`, dead[1].Number), 200)
	v.check("dead letters", v.states("dead"), "")
	v.tick()
	v.check("dead again", v.states("dead"), "dead-1:dead")
	v.check("all retried", v.act("retry", `{"queue":"mails","state":"dead","all":true}`, 200), "{\"count\":1}\n")
	v.tick()
	v.check("all deleted", v.act("delete", `{"queue":"mails","state":"dead","all":true}`, 200), "{\"count\":1}\n")

	v.act("drain", `{"queue":"mails"}`, 200)
	mails, err := v.r.Queue(t.Context(), "mails")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.r.Post(t.Context(), &runner.Message{To: mails, ID: []byte("late")}); !errors.Is(err,
		runner.ErrDraining) {
		t.Errorf("posted to a queue that is drained: %v", err)
	}
	v.act("fill", `{"queue":"mails"}`, 200)
	v.post(mails, "later")

	for args, want := range map[string]int{
		`{"queue":"mails","id":"nobody"}`: 404, `{"queue":"mails"}`: 400, `{}`: 400, `nonsense`: 400,
		`{"queue":"mails","all":true}`: 400, `{"queue":"mails","id":"hex:xy"}`: 400,
		`{"queue":"nobody","state":"dead","all":true}`: 404,
	} {
		v.act("delete", args, want)
	}
	if code, _ := v.ask("POST", "api/pause", "text/plain",
		`{"queue":"mails"}`); code != http.StatusUnsupportedMediaType {
		t.Errorf("a change that is not JSON: %d", code)
	}
}

// TestForms makes changes as the page does, which redirects to the former view.
func TestForms(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	send := func(verb string, args url.Values) (int, string) {
		t.Helper()
		return v.ask("POST", "act/"+verb, "application/x-www-form-urlencoded", args.Encode(),
			"Origin", v.server.URL, "Sec-Fetch-Site", "same-origin")
	}
	code, to := send("retry", url.Values{"queue": {"mails"}, "state": {"dead"}, "all": {"true"}})
	v.check("led", fmt.Sprint(code, to), "303../?did=retry&queue=mails&state=dead")
	v.check("inbox", v.states("waiting"), "busy:retrying new:waiting dead-1:waiting dead-2:waiting")
	code, to = send("pause", url.Values{"queue": {"mails"}, "home": {"true"}})
	v.check("led", fmt.Sprint(code, to), "303../?did=pause")
	if page := v.get("?did=pause"); !strings.Contains(page, "Done: pause.") || !strings.Contains(page, ">paused<") {
		t.Errorf("the page does not tell it: %s", page)
	}
	code, page := send("delete", url.Values{"queue": {"mails"}, "id": {"nobody"}})
	if code != 404 || !strings.Contains(page, "not found") {
		t.Errorf("%d %s", code, page)
	}
}

// TestPage: the page shows the runner's content, as text, and reports no change that was not
// made.
func TestPage(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything, Back: "/console/"})
	for path, want := range map[string]string{
		"":                        `href="?queue=mails&amp;state=waiting"`,
		"?queue=mails":            `aria-current="page">Waiting`,
		"?queue=mails&state=dead": "no such &lt;address&gt;",
		"?queue=mails&state=done": `<span class="state done">done</span>`,
		"?queue=mails&id=good":    "<h2>Result</h2>",
		"?reload=1":               `http-equiv="refresh"`,
		"?did=<b>":                `<a href="/console/">`,
		"style.css":               "prefers-color-scheme: dark",
	} {
		if page := v.get(path); !strings.Contains(page, want) || strings.Contains(page, "<script") ||
			strings.Contains(page, "Done: <") {
			t.Errorf("%q has no %s:\n%s", path, want, page)
		}
	}
}

// TestSchedules: the page and the statistics show the schedules, and a list of scheduled
// messages that is cut says so.
func TestSchedules(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	queue, err := v.r.Queue(t.Context(), "reports")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.r.Every(t.Context(), "nightly", "0 3 * * *", &runner.Message{To: queue}); err != nil {
		t.Fatal(err)
	}
	var s admin.Stats
	if err := json.Unmarshal([]byte(v.get("api/stats")), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Schedules) != 1 || s.Schedules[0].Name != "nightly" || s.Schedules[0].Queue != "reports" ||
		s.Schedules[0].Schedule != "0 3 * * *" || s.Schedules[0].Next.IsZero() {
		t.Errorf("got %+v", s.Schedules)
	}
	if page := v.get(""); !strings.Contains(page, `<td data-of="Name">nightly</td>`) ||
		!strings.Contains(page, `<td data-of="Last">never</td>`) {
		t.Errorf("the page does not show it:\n%s", page)
	}
	list := func(want int, more bool) {
		t.Helper()
		var l admin.List
		if err := json.Unmarshal([]byte(v.get("api/list?queue=reports&state=scheduled")), &l); err != nil ||
			len(l.Messages) != want || l.More != more {
			t.Errorf("%d messages, more %v, %v; want %d, %v", len(l.Messages), l.More, err, want, more)
		}
	}
	list(1, false)
	for range 60 {
		if _, err := v.r.Post(t.Context(), &runner.Message{To: queue, At: v.r.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	list(50, true)
	if page := v.get("?queue=reports&state=scheduled"); !strings.Contains(page, "more are scheduled") {
		t.Error("the page does not say that there are more")
	}
}

// TestPaging: a list is bounded, and its pages hold every message once.
func TestPaging(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	queue, err := v.r.Queue(t.Context(), "many")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		v.post(queue, fmt.Sprintf("m%03d", i))
	}
	seen, from, pages := map[string]bool{}, uint64(0), 0
	for {
		var l admin.List
		if err := json.Unmarshal([]byte(v.get(fmt.Sprintf("api/list?queue=many&from=%d", from))), &l); err != nil {
			t.Fatal(err)
		}
		pages++
		for _, m := range l.Messages {
			seen[m.ID] = true
		}
		if from = l.Next; from == 0 {
			break
		}
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d messages on %d pages, want 120 on 3", len(seen), pages)
	}
	page := v.get("?queue=many")
	if n := strings.Count(page, "<tr>"); n != 51 || !strings.Contains(page, "Next page") {
		t.Errorf("a page has %d rows", n)
	}
	var l admin.List
	if err := json.Unmarshal([]byte(v.get("api/list?queue=many&limit=100000")), &l); err != nil ||
		len(l.Messages) != 120 {
		t.Errorf("%d messages, %v", len(l.Messages), err)
	}
}

// TestNotAllowed: without Options.Allow every request is refused, and with it all that it
// does not allow; a page of another site changes nothing in the name of an allowed user.
func TestNotAllowed(t *testing.T) {
	form, kind := "queue=mails", "application/x-www-form-urlencoded"
	t.Run("no function", func(t *testing.T) {
		v := newRig(t, admin.Options{})
		for _, path := range []string{"", "style.css", "api/stats", "?queue=mails"} {
			if code, text := v.ask("GET", path, "", ""); code != http.StatusForbidden ||
				strings.Contains(text, "mails") {
				t.Errorf("GET %s: %d %s", path, code, text)
			}
		}
		for _, verb := range admin.Verbs {
			if code, _ := v.ask("POST", "api/"+verb.Name, "application/json",
				`{"queue":"mails"}`); code != http.StatusForbidden {
				t.Errorf("POST %s: %d", verb.Name, code)
			}
		}
	})
	t.Run("only looks", func(t *testing.T) {
		v := newRig(t, admin.Options{Allow: func(_ *http.Request, changes bool) bool { return !changes }})
		v.get("api/stats")
		for _, verb := range admin.Verbs {
			if !verb.Changes {
				continue
			}
			for _, path := range []string{"api/", "act/"} {
				if code, _ := v.ask("POST", path+verb.Name, "application/json",
					`{"queue":"mails"}`); code != http.StatusForbidden {
					t.Errorf("POST %s%s: %d", path, verb.Name, code)
				}
			}
		}
		if v.r.Stats().Inboxes[0].Paused {
			t.Error("the queue is paused")
		}
	})
	t.Run("another page", func(t *testing.T) {
		v := newRig(t, admin.Options{Allow: everything})
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site", "Origin", "https://example.org"},
			{"Origin", "https://example.org"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "null"},
		} {
			if code, _ := v.ask("POST", "act/pause", kind, form, headers...); code != http.StatusForbidden {
				t.Errorf("%q: %d", headers, code)
			}
		}
		if v.r.Stats().Inboxes[0].Paused {
			t.Error("the queue is paused")
		}
	})
	t.Run("refused here", func(t *testing.T) {
		v := newRig(t, admin.Options{Allow: everything, Refuse: func(verb string, _ admin.Args) error {
			if verb == "drain" {
				return fmt.Errorf("drain is %w", admin.ErrRefused)
			}
			return nil
		}})
		v.act("drain", `{"queue":"mails"}`, http.StatusForbidden)
		if page := v.get("?queue=mails"); strings.Contains(page, "act/drain") || !strings.Contains(page, "act/pause") {
			t.Error("the page offers what is refused")
		}
	})
	t.Run("around", func(t *testing.T) {
		var noted []string
		v := newRig(t, admin.Options{Allow: everything, Around: func(r *http.Request, verb string, a admin.Args,
			do func(context.Context) (any, error)) (any, error) {
			noted = append(noted, verb+" "+a.Queue)
			return do(r.Context())
		}})
		v.act("pause", `{"queue":"mails"}`, 200)
		v.get("api/stats")
		v.check("noted", strings.Join(noted, ", "), "pause mails")
	})
}

func TestLoopback(t *testing.T) {
	for _, tc := range []struct {
		from, host, forwarded string
		want                  bool
	}{
		{"127.0.0.1:5", "localhost:8080", "", true},
		{"127.0.0.1:5", "127.0.0.1", "", true},
		{"[::1]:5", "[::1]:8080", "", true},
		{"[::ffff:127.0.0.1]:5", "127.0.0.1:1", "", true},
		{"127.0.0.1:5", "evil.example:8080", "", false},
		{"192.0.2.7:5", "localhost", "", false},
		{"127.0.0.1:5", "localhost", "192.0.2.7", false},
		{"", "localhost", "", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = tc.from, tc.host
		if tc.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tc.forwarded)
		}
		if got := admin.Loopback(r, true); got != tc.want {
			t.Errorf("from %q to %q, forwarded %q: got %v", tc.from, tc.host, tc.forwarded, got)
		}
	}
}
