package observe

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"wamble/internal/loop"
	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnerprom"
)

const (
	rulesFile     = "../../packaging/prometheus/wamble.rules.yml"
	dashboardFile = "../../packaging/grafana/wamble.json"
)

// known are the names of all metrics.
func known(t *testing.T) []string {
	t.Helper()
	names := runnerprom.Names(journalPrefix)
	for _, m := range metrics {
		names = append(names, "wamble_"+m.name)
	}
	histogram := func(name string) {
		names = append(names, name+"_bucket", name+"_count", name+"_sum")
	}
	for _, d := range distributions {
		histogram("wamble_" + d.name)
	}
	web := NewWeb()
	web.Socket("a")(time.Second)
	web.requests.WithLabelValues("a", "/", "200").Observe(1)
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	here := func() map[int]*runner.Runner { return map[int]*runner.Runner{0: r} }
	families, err := registry(AdminOptions{Profiles: func() []*loop.Runtime { return nil }, Journal: r, Parts: here,
		Node: "a", Web: web}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
		if f.GetMetric()[0].GetHistogram() != nil {
			histogram(f.GetName())
		}
	}
	return names
}

// TestWide: metrics of the whole server have no label profile, so that a sum over profiles
// counts them once.
func TestWide(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(wide(func() map[int]*runner.Runner { return map[int]*runner.Runner{0: r} }, "1.2+abc"),
		runnerprom.New(r, journalPrefix))...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "profile" {
					t.Errorf("%s has the label profile", f.GetName())
				}
				if f.GetName() == "wamble_build_info" {
					told += l.GetName() + "=" + l.GetValue() + " "
				}
			}
		}
	}
	if !strings.Contains(told, "version=1.2+abc") || !strings.Contains(told, "go=go1.") {
		t.Errorf("the program is told as %q", told)
	}
	for _, m := range metrics {
		if m.name == "feed_games" {
			t.Error("the games of the feed, which is one for all, are told for each profile")
		}
	}
}

// TestAlerts: promtool accepts the rules, and they and the dashboard query metrics that
// exist.
func TestAlerts(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: scripts/setup installs it", err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", rulesFile).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	names := known(t)
	for _, file := range []string{rulesFile, dashboardFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\bwamble_[a-z_]+`).FindAllString(string(text), -1)
		if len(named) < 10 {
			t.Errorf("%s names only %d metrics", file, len(named))
		}
		for _, name := range named {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// TestDashboard: promtool accepts every query of the dashboard.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
		for _, q := range p.Targets {
			rules = append(rules, rule{"a",
				strings.NewReplacer("$__rate_interval", "5m", "$profile", "a").Replace(q.Expr)})
		}
	}
	for i := range rules {
		rules[i].Record = "q:" + strings.Repeat("a", i+1)
	}
	// JSON is YAML.
	file, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
