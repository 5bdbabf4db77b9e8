package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/handoff"
	"wamble/internal/loader"
)

// TestHandoff: clients play, over UDP and WebSocket, while the server is replaced by another
// process repeatedly. No move is lost or repeated, no session is lost, every datagram that
// reached the socket is answered, and the kernel drops none. At last the process is killed,
// while its journal has many messages of the processes before it: the next start brings them
// to the store.
func TestHandoff(t *testing.T) {
	t.Parallel()
	handOffUnderLoad(t, 200, 20, 2)
}

// checkPhases requires every phase of a handoff, and that the phases without service fit into
// the reported time without service.
func checkPhases(t *testing.T, done handoff.Result) {
	t.Helper()
	var names []string
	gap := time.Duration(0)
	for _, p := range done.Phases {
		names = append(names, p.Name)
		if slices.Contains(names, "freeze") {
			gap += p.Took
		}
	}
	want := "check select files sockets flush pause freeze state exec config inherit journal authority mesh bind redirect admin control pid file adopt begin"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("phases: got %s, want %s", got, want)
	}
	if most := done.Frozen.Duration() + time.Second; gap <= 0 || gap > most { // Frozen is by the wall clock
		t.Errorf("the phases without service took %v, want at most %v", gap, most)
	}
}

func handOffUnderLoad(t *testing.T, boards, clients, rounds int) {
	i := spawnImage(t, conf(fmt.Sprintf(`(def max-boards %d) (def min-boards %d) (def http-max-connections-per-ip 100)`,
		2*boards, boards)))
	until(t, "the boards are there", func() bool { return boardsOf(i.status()) >= boards })
	pid := i.status().PID
	over := gather(t, "ws://127.0.0.1:"+i.port+"/ws", clients/9)
	over.play()

	// A datagram without an answer would be sent again after this time, and be counted.
	load := startLoad(t, loader.Options{Server: netip.MustParseAddrPort("127.0.0.1:" + i.port), Clients: clients,
		Wait: patience / 2})
	readers := []*reader{readOn("http://127.0.0.1:" + i.port + "/api/live"), readOn("http://" + i.admin + "/healthz")}
	var frozen []time.Duration
	for round := range rounds {
		done, err := i.handOff("")
		if err != nil {
			t.Fatalf("handoff %d: %v", round, err)
		}
		if done.PID != pid {
			t.Errorf("handoff %d: process %d became %d", round, pid, done.PID)
		}
		frozen = append(frozen, done.Frozen.Duration())
		checkPhases(t, done)
		t.Logf("handoff %d: frozen %v: %v", round, done.Frozen.Duration(), done.Phases)
		over.more(t, 40)
	}
	over.finish()
	for _, r := range readers {
		r.end(t)
	}
	lost := drops(t, pid, i.port)
	report := load.end()
	if c := report.Counts; c.Forgotten+c.Moved+c.Timeouts+c.Resent+c.Malformed+c.Refused > 0 {
		t.Errorf("something did not go straight: %+v", c)
	}
	if lost != 0 {
		t.Errorf("the kernel dropped %d datagrams", lost)
	}
	if left := i.leftovers(); len(left) > 0 {
		t.Errorf("state files are left: %v", left)
	}
	t.Logf("%d messages are in the journal alone", pending(i.status()))
	i.kill()
	killed := time.Now()
	i.launch()
	t.Logf("after the kill it serves again in %v", time.Since(killed))
	i.end()
	slices.Sort(frozen)
	t.Logf("%d boards, %d handoffs: frozen p50 %v, p90 %v, max %v; longest gap between answers %v; %d moves over UDP, %d over WebSocket",
		boards, rounds, frozen[len(frozen)/2], frozen[len(frozen)*9/10], frozen[len(frozen)-1], report.LongestGap,
		report.AcceptedCount(), over.moves.Load())
	verifyBoth(t, i.dir, report, over)
}

// reader sends HTTP requests repeatedly, and records each failure.
type reader struct {
	stop     chan struct{}
	done     chan struct{}
	answers  int
	problems []string
}

func readOn(url string) *reader {
	r := &reader{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(60 * time.Millisecond) // the routes have limits
		defer tick.Stop()
		for {
			answer, err := http.Get(url)
			switch {
			case err != nil:
				r.problems = append(r.problems, err.Error())
			case answer.StatusCode != http.StatusOK:
				r.problems = append(r.problems, answer.Status)
			}
			if err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			r.answers++
			select {
			case <-r.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return r
}

// end stops the requests: each must have been answered.
func (r *reader) end(t *testing.T) {
	t.Helper()
	close(r.stop)
	<-r.done
	if len(r.problems) > 0 {
		t.Errorf("%d of %d questions over HTTP were not answered: %v", len(r.problems), r.answers, r.problems)
	}
}

// verifyBoth checks that every move of the loader and of the crowd is in the store, once, and
// no other.
func verifyBoth(t *testing.T, dir string, report *loader.Report, c *crowd) {
	t.Helper()
	store := openSQLite(t, dir)
	v, err := loader.Verify(t.Context(), report, store)
	if err != nil || !v.Exact() {
		t.Errorf("over UDP: %+v, %v", v, err)
	}
	games := map[wamble.BoardID][]wamble.Move{}
	stored := 0
	for b, err := range store.Games(t.Context(), wamble.GameFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		games[b.ID] = b.Moves
		stored += len(b.Moves)
	}
	accepted, doubtful := 0, 0
	for _, p := range c.players {
		accepted += len(p.played)
		doubtful += p.doubtful + p.refused
		for _, m := range p.played {
			if g := games[m.board]; m.ply > len(g) || g[m.ply-1].UCI != m.uci {
				t.Errorf("over WebSocket: %+v is not in the store", m)
			}
		}
	}
	others := stored - v.Kept - v.Unresolved
	if others < accepted || others > accepted+doubtful {
		t.Errorf("the store has %d moves of WebSocket players, %d were accepted and %d are doubtful", others, accepted,
			doubtful)
	}
}

// private returns a directory that only this user may write to.
func private(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// drops returns how many datagrams the kernel has dropped for a port of a process. The tests' own
// process may be in another network namespace since a proof.
func drops(t testing.TB, pid int, port string) int {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	dropped, sockets := 0, 0
	for _, table := range []string{"udp", "udp6"} { // the second one is missing without IPv6
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", number)) {
				n, err := strconv.Atoi(fields[len(fields)-1])
				if err != nil {
					t.Fatal(err)
				}
				dropped += n
				sockets++
			}
		}
	}
	if sockets == 0 {
		t.Fatalf("no socket has port %d", number)
	}
	return dropped
}

// boardsOf counts the boards of all profiles.
func boardsOf(s admin.Status) int {
	n := 0
	for _, p := range s.Profiles {
		for _, of := range p.Boards {
			n += of
		}
	}
	return n
}

// pending counts the messages that the stores do not have yet.
func pending(s admin.Status) (n uint64) {
	for _, p := range s.Profiles {
		n += p.Depth
	}
	return n
}

// once closes a channel that may be closed already, by the only goroutine that
// does.
func once(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// await waits for a channel to be closed, at most patience.
func await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("in vain: %s", what)
	}
}
