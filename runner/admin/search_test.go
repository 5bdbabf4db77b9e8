package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"wamble/runner"
	"wamble/runner/admin"
)

// TestFind: a list shows the messages that contain a text, and dead letters that do can be changed
// together.
func TestFind(t *testing.T) {
	for _, c := range []struct{ name, state, find, want string }{
		{"part of an id", "waiting", "ne", "new:waiting"},
		{"part of a payload", "waiting", `"to":"busy`, "busy:retrying"},
		{"part of an error", "dead", "such <addr", "dead-1:dead dead-2:dead"},
		{"one of the dead", "dead", "-2", "dead-2:dead"},
		{"nothing", "dead", "nobody", ""},
		{"everything", "waiting", "", "busy:retrying new:waiting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newRig(t, admin.Options{Allow: everything})
			v.check("found", v.states(c.state+"&find="+url.QueryEscape(c.find)), c.want)
			page := v.get("?queue=mails&state=" + c.state + "&find=" + url.QueryEscape(c.find))
			for _, id := range []string{"new", "busy", "dead-1", "dead-2"} {
				if shown := strings.Contains(page, ">"+id+"</a>"); shown != strings.Contains(c.want, id) {
					t.Errorf("the page shows %s: %v", id, shown)
				}
			}
			if c.state != "dead" {
				return
			}
			args, err := json.Marshal(admin.Args{Queue: "mails", State: "dead", All: true, Find: c.find})
			if err != nil {
				t.Fatal(err)
			}
			n := len(strings.Fields(c.want))
			v.check("deleted", v.act("delete", string(args), 200), fmt.Sprintf("{\"count\":%d}\n", n))
			v.check("left", fmt.Sprint(len(v.list("dead"))), fmt.Sprint(2-n))
		})
	}
}

// TestScheduleActions: a schedule can be run and deleted, and one that the program has not declared says so.
func TestScheduleActions(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	m := &runner.Message{Queue: "mails", Payload: []byte("all")}
	if err := v.r.Every(t.Context(), "digest", "24h", m); err != nil {
		t.Fatal(err)
	}
	if page := v.get(""); strings.Contains(page, ">not declared<") || !strings.Contains(page, "act/run-schedule") {
		t.Errorf("the page shows %s", page)
	}
	v.act("run-schedule", `{"schedule":"nobody"}`, 404)
	v.act("run-schedule", `{"schedule":"digest"}`, 200)
	if waiting := v.states("waiting"); !strings.Contains(waiting, "digest@") {
		t.Errorf("there wait %s", waiting)
	}
	code, to := v.ask("POST", "act/delete-schedule", "application/x-www-form-urlencoded", "schedule=digest&home=true",
		"Origin", v.server.URL, "Sec-Fetch-Site", "same-origin")
	v.check("led", fmt.Sprint(code, to), "303../?did=delete-schedule")
	v.act("delete-schedule", `{"schedule":"digest"}`, 404)
}

// TestCounts: running messages are those that a handler runs, not those that a worker has claimed,
// and dead ones are those that are there.
func TestCounts(t *testing.T) {
	v := newRig(t, admin.Options{Allow: everything})
	jobs, err := v.r.Queue(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	row := func(queue string) (counts string) {
		t.Helper()
		var s admin.Stats
		if err := json.Unmarshal([]byte(v.get("api/stats")), &s); err != nil {
			t.Fatal(err)
		}
		for _, q := range s.Queues {
			if q.Name == queue {
				counts = fmt.Sprint(q.Depth, q.Waiting, q.Active, q.Retrying, q.Dead)
			}
		}
		return counts
	}
	during := ""
	w, err := v.r.NewWorker(jobs, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
		if during == "" { // later runs see what has ended meanwhile
			during = row("jobs")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := v.r.Post(t.Context(), &runner.Message{To: jobs}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.check("while the first one runs", during, fmt.Sprint(5, 4, 1, 0, 0))
	v.check("mails", row("mails"), fmt.Sprint(2, 1, 0, 1, 2))
	v.act("delete", `{"queue":"mails","state":"dead","all":true}`, 200)
	v.check("mails without dead letters", row("mails"), fmt.Sprint(2, 1, 0, 1, 0))
	if page := v.get("?queue=mails&state=done"); !strings.Contains(page, " UTC</td>") {
		t.Error("times have no zone")
	}
}
