//go:build proof

package server

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/prooftest"
)

// abuseTime is how long a server is abused: 3 s, 60 s with WAMBLE_SOAK, 1 s under the race detector.
func abuseTime() time.Duration {
	if prooftest.Raced {
		return time.Second
	}
	return prooftest.Sized(3*time.Second, 3*time.Second, time.Minute)
}

// TestAbuse: mutated packets, HTTP and WebSocket abuse do not crash a server, do
// not fill its memory, and do not keep players from playing.
func TestAbuse(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	a := openArena(t)
	pulses := int(abuseTime() / pulseTime)
	calm := a.pulse(t, pulses/2)
	before := memoryOf(t, a.cmd.Process.Pid)
	end := a.storm(t)
	storm := a.pulse(t, pulses)
	end()
	t.Logf("moves took p50 %.2f ms, p99 %.2f ms before it, %.2f and %.2f during it", at(calm, 50), at(calm, 99),
		at(storm, 50), at(storm, 99))
	after := memoryOf(t, a.cmd.Process.Pid)
	a.pulse(t, 10)
	t.Logf("%d packets, %d connections; memory %d MB before, %d MB after", a.packets, a.conns, before>>20, after>>20)
	// The journal writes all this to its tables: some 30 MB in a minute. Links, limits, the
	// sessions without an identity and their boards are bounded as well.
	most := int64(80 << 20)
	if prooftest.Raced {
		most *= 4 // the race detector's own memory grows with the server's
	}
	if grown := after - before; grown > most {
		t.Errorf("the memory has grown by %d MB", grown>>20)
	}
	// Some connections were refused, and nothing has grown above its default.
	limits := config.Defaults().Default
	if n := a.metric(t, `wamble_link_total{event="limited"`); n == 0 {
		t.Error("nobody was limited")
	}
	// As many sessions as are present may be on their way to the database.
	if got, most := a.metric(t, "wamble_sessions{"), 2*limits.Sessions.MaxPlayers; got > float64(most) {
		t.Errorf("%v sessions, want at most %d", got, most)
	}
	if got, most := a.metric(t, "wamble_boards{"), limits.Boards.MaxBoards; got > float64(most) || got == 0 {
		t.Errorf("%v boards, want at most %d", got, most)
	}
	// The last connections of the vandals may still be counted.
	until(t, "/readyz answers", func() bool { return fetch(t, "http://127.0.0.1:"+a.port+"/readyz") == "200 ready" })
	if strings.Contains(a.log.String(), "panic") {
		t.Errorf("something has panicked:\n%s", a.log)
	}
	a.end()
	verifySQLite(t, a.dir, a.crowd)
}

// memoryOf returns the resident memory of a process in bytes.
func memoryOf(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// metric returns the sum of the metrics whose lines begin with begin.
func (a *arena) metric(t testing.TB, begin string) (sum float64) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(a.dir, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest("GET", "http://"+a.admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("metrics: %s, %v", answer.Status, err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, begin) {
			continue
		}
		words := strings.Fields(line)
		n, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum, found = sum+n, true
	}
	if !found {
		t.Errorf("no metric begins with %s:\n%s", begin, text)
	}
	return sum
}
