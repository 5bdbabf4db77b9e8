package runnerprom_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnerprom"
	"wamble/runner/runnertest"
)

// gather returns all values by name, with the queue behind it.
func gather(t *testing.T, r *runner.Runner) map[string]*dto.Metric {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(runnerprom.New(r, "jobs"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*dto.Metric{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			found[name] = m
		}
	}
	return found
}

func value(m *dto.Metric) float64 {
	switch {
	case m == nil:
		return -1
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return float64(m.Histogram.GetSampleCount())
}

// TestCollector: a queue with one finished message, one that waits for a retry, one dead
// letter and one that was never claimed.
func TestCollector(t *testing.T) {
	clock := runnertest.NewClock(1000)
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1, Now: clock.Now, Sleep: clock.Sleep})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mails, err := r.Queue(t.Context(), "mails")
	if err != nil {
		t.Fatal(err)
	}
	post := func(id string) {
		t.Helper()
		if _, err := r.Post(t.Context(), &runner.Message{To: mails, ID: []byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := r.NewWorker(mails,
		runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error {
			clock.Advance(20 * time.Millisecond)
			switch string(d.ID) {
			case "bad":
				return runner.Discard(errors.New("no such address"))
			case "busy":
				return runner.Retry(errors.New("away"), time.Hour)
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"good", "bad", "busy"} {
		post(id)
	}
	clock.Advance(3 * time.Second)
	if _, err := w.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	post("next")
	clock.Advance(7 * time.Second)
	if err := r.PauseQueue(t.Context(), "mails"); err != nil {
		t.Fatal(err)
	}
	got := gather(t, r)
	for name, want := range map[string]float64{
		"jobs_dead_letters": 1, "jobs_state running": 1, "jobs_state failed": 0, "jobs_timers": 0,
		"jobs_queue_depth mails": 2, "jobs_queue_parked mails": 1, "jobs_queue_leased mails": 0,
		"jobs_queue_paused mails":   1,
		"jobs_queue_draining mails": 0, "jobs_runs_total mails": 3, "jobs_successes_total mails": 1,
		"jobs_busy_total mails":    1,
		"jobs_retries_total mails": 1, "jobs_dead_lettered_total mails": 1, "jobs_run_seconds mails": 3,
		"jobs_wait_seconds mails": 3,
	} {
		if v := value(got[name]); v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if age := value(got["jobs_queue_age_seconds mails"]); age < 7 || age > 7.1 {
		t.Errorf("the oldest is %v s old, want 7", age)
	}
	for name, want := range map[string]float64{"jobs_run_seconds mails": 0.06,
		"jobs_wait_seconds mails": 3 + 3.02 + 3.04} {
		if sum := got[name].Histogram.GetSampleSum(); sum < want-0.001 || sum > want+0.001 {
			t.Errorf("%s sums up to %v, want %v", name, sum, want)
		}
		last := uint64(0)
		for _, b := range got[name].Histogram.Bucket {
			if b.GetCumulativeCount() < last {
				t.Errorf("%s: %d up to %v s after %d before", name, b.GetCumulativeCount(), b.GetUpperBound(), last)
			}
			last = b.GetCumulativeCount()
		}
		if last != 3 {
			t.Errorf("%s: %d up to the last bound, want 3", name, last)
		}
	}
}

// TestNames: names follow the rules of Prometheus, and every metric has a description.
func TestNames(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := make(chan *prometheus.Desc, 1000)
	runnerprom.New(r, "jobs").Describe(out)
	close(out)
	seen, form := map[string]bool{}, regexp.MustCompile(`fqName: "(jobs_[a-z_]+)", help: "([A-Z1][^"]+\.)"`)
	for d := range out {
		m := form.FindStringSubmatch(d.String())
		if m == nil || seen[m[1]] || strings.Contains(m[1], "__") {
			t.Errorf("%s", d)
			continue
		}
		seen[m[1]] = true
	}
	names := runnerprom.Names("jobs")
	if len(seen) != len(names) {
		t.Errorf("%d metrics with %d names", len(seen), len(names))
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}
