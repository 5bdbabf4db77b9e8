//go:build proof

package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
)

// prometheus runs Prometheus as the manual and the first lines of the alert rules say, but
// for how often it looks.
func (m *machine) prometheus(book *manual) {
	m.t.Helper()
	const config, data = "/etc/prometheus/prometheus.yml", "/run/prometheus"
	m.shell(book.says("wamble token-create prometheus read"))
	m.shell(book.says("install -m 0644 /usr/share/doc/wamble/examples/wamble.rules.yml"))
	text := "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
	for line := range strings.Lines(m.read("/etc/prometheus/wamble.rules.yml")) {
		if said, ok := strings.CutPrefix(line, "#   "); ok {
			text += said
		}
	}
	m.write(config, text, 0o644)
	m.do("promtool", "check", "config", config)
	m.do("install", "-d", "-o", "prometheus", data)
	c := m.command("prometheus", "--config.file="+config, "--storage.tsdb.path="+data,
		"--web.listen-address=127.0.0.1:9090")
	uid, gid := m.user("prometheus")
	c.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	m.background(c)

	lint := exec.Command("promtool", "check", "metrics")
	code, metrics := ask(m.t, strings.TrimSpace(m.read("/etc/prometheus/wamble-token")), "/metrics", "")
	lint.Stdin = strings.NewReader(metrics)
	if out, err := lint.CombinedOutput(); err != nil || code != http.StatusOK ||
		!strings.Contains(metrics, "wamble_certificate_expires_timestamp_seconds") {
		m.t.Errorf("metrics: %d, %v\n%s", code, err, out)
	}
}

// dashboard waits until Prometheus has an answer to every question of the dashboard, and
// has tried every alert rule.
func (m *machine) dashboard() {
	m.t.Helper()
	const examples = "/usr/share/doc/wamble/examples/"
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(m.read(examples+"wamble.json")), &board); err != nil || len(board.Panels) == 0 {
		m.t.Fatalf("the dashboard has %d panels: %v", len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			question := strings.NewReplacer("$__rate_interval", "30s", "$profile", ".*").Replace(q.Expr)
			until(m.t, p.Title+": "+question, func() bool {
				var result struct{ Result []any }
				return fromPrometheus("query?query="+url.QueryEscape(question), &result) && len(result.Result) > 0
			})
		}
	}
	want := strings.Count(m.read(examples+"wamble.rules.yml"), "- alert:")
	until(m.t, "every alert rule is tried", func() bool {
		var result struct {
			Groups []struct{ Rules []struct{ Health string } }
		}
		well := 0
		fromPrometheus("rules", &result)
		for _, g := range result.Groups {
			for _, r := range g.Rules {
				if r.Health == "ok" {
					well++
				}
			}
		}
		return well == want
	})
}

// fromPrometheus queries Prometheus, and reports whether it has answered.
func fromPrometheus(question string, result any) bool {
	r, err := http.Get("http://127.0.0.1:9090/api/v1/" + question)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(&struct{ Data any }{result}) == nil && r.StatusCode == http.StatusOK
}
