package observe

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/watchtest"
)

func loadConf(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.Load("test.conf", text, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLogLevels: each profile has its level, the format is that of the
// configuration, and a reload changes both.
func TestLogLevels(t *testing.T) {
	text := `(def advertise 1)(def log-level "warn")(defprofile loud ((def log-level "debug")(def port 1)))(defprofile quiet ((def port 2)))`
	out := &watchtest.Log{}
	log := NewLog(out, loadConf(t, text))
	loud, quiet := log.With("profile", "loud"), log.With("profile", "quiet")
	loud.Debug("one")
	quiet.Info("two")
	log.Info("three")
	quiet.Warn("four")
	log.Handler().(*logHandler).Configure(loadConf(t, text+`(def log-level "info")(def log-format "json")`))
	quiet.WithGroup("g").Info("five", "k", 1)
	got := out.String()
	for word, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true} {
		if strings.Contains(got, word) != want {
			t.Errorf("%s is logged: %v, want %v\n%s", word, !want, want, got)
		}
	}
	line := strings.TrimSpace(got[strings.LastIndex(strings.TrimSpace(got), "\n"):])
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["profile"] != "quiet" ||
		fmt.Sprint(fields["g"]) != "map[k:1]" {
		t.Errorf("the last line is %s: %v", line, err)
	}
}

// TestLogFlood: a line that is repeated without end is written a few times, and the next one
// has the number of those left out.
func TestLogFlood(t *testing.T) {
	out := &watchtest.Log{}
	log := NewLog(out, loadConf(t, ""))
	core := log.Handler().(*logHandler).core
	now := time.Unix(1e9, 0)
	core.now = func() time.Time { return now }
	for range 1000 {
		log.Warn("flood")
	}
	log.Warn("something else")
	if got := strings.Count(out.String(), "flood"); got != floodLines {
		t.Errorf("got %d lines, want %d", got, floodLines)
	}
	if !strings.Contains(out.String(), "something else") {
		t.Error("the flood has drowned another line")
	}
	now = now.Add(floodTime)
	log.Warn("flood")
	if want := fmt.Sprintf("left_out=%d", 1000-floodLines); !strings.Contains(out.String(), want) {
		t.Errorf("the log lacks %s", want)
	}
	for i := range 10 * floodKinds {
		log.Warn(fmt.Sprint("line ", i))
	}
	if got := len(core.flood); got > floodKinds {
		t.Errorf("%d kinds are remembered, want at most %d", got, floodKinds)
	}
}

// TestNoLinesYet: before anything was logged the console gets a list, too.
func TestNoLinesYet(t *testing.T) {
	got, err := json.Marshal((&lastLines{}).all())
	if want := "[]"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// TestTail keeps the last lines, oldest first.
func TestTail(t *testing.T) {
	var l lastLines
	for i := range tailLines + 3 {
		l.Write([]byte(strings.Repeat("x", i) + "\n"))
	}
	all := l.all()
	if len(all) != tailLines || len(all[0]) != 3 || len(all[tailLines-1]) != tailLines+2 {
		t.Errorf("got %d lines from %d to %d", len(all), len(all[0]), len(all[len(all)-1]))
	}
}
