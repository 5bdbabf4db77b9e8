package web_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"wamble/runner"
	"wamble/runner/admin"
	"wamble/runner/memstore"
)

// TestQueuesPage: the page of the runner in a browser: a queue and its dead letter are found,
// shown and run again, and the queue is paused and resumed.
func TestQueuesPage(t *testing.T) {
	t.Parallel()
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mails, err := runner.Handle(r, "mails", func(_ context.Context, j *runner.Job[string]) error {
		return runner.Discard(errors.New("no such address"))
	}, runner.WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mails.Post(t.Context(), "to nobody", runner.ID("letter")); err != nil {
		t.Fatal(err)
	}
	if _, err := mails.Worker().Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(admin.New(r, admin.Options{Allow: admin.Loopback}))
	defer server.Close()

	p := meet(t, screen{width: 1200, height: 800})
	p.open(server.URL + "/")
	p.reads("td[data-of=Queue] a", "mails")
	p.press("td[data-of=Dead] a")
	p.reads("td[data-of=Error]", "no such address")
	p.press("td[data-of=Message] a")
	p.reads("h1", "letter dead")
	p.reads("pre.problem", "no such address")
	p.press(".acts form[action='act/retry'] button")
	p.until(`document.querySelector('[role=status]')`)
	m, err := r.Message("mails", "letter")
	if err != nil || m.State != runner.Waiting {
		t.Errorf("after it was run again the message is %v, %v", m.State, err)
	}

	p.open(server.URL + "/")
	p.press("form[action='act/pause'] button")
	p.reads("td[data-of=Queue] .state", "paused")
	if !r.Stats().Inboxes[0].Paused {
		t.Error("the queue is not paused")
	}
	p.press("form[action='act/resume'] button")
	p.until(`document.querySelector("form[action='act/pause']")`)
	if r.Stats().Inboxes[0].Paused {
		t.Error("the queue is still paused")
	}
}
