package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wamble"
	"wamble/internal/handoff"
	"wamble/internal/loader"
	"wamble/internal/postgres"
	"wamble/internal/postgres/pgtest"
	"wamble/internal/sqlite"
)

// handoffs is how often a server hands over under load: 5 times, 100 with
// WAMBLE_SOAK.
func handoffs() int {
	if os.Getenv("WAMBLE_SOAK") != "" {
		return 100
	}
	return 5
}

// TestHandoff: 200 clients play, over UDP and WebSocket, while the server becomes
// another image of itself again and again. No move is lost or repeated, no session
// is lost, every datagram that reached the socket is answered, and the kernel
// drops none. At last the process is killed, with much in the journal that the
// images before it left there: the next start brings it to the store.
func TestHandoff(t *testing.T) {
	handOffUnderLoad(t, 2000, handoffs())
}

// TestHandoffLarge is the same with 100,000 boards.
func TestHandoffLarge(t *testing.T) {
	rounds := 10
	if os.Getenv("WAMBLE_SOAK") == "" {
		rounds = 1
	}
	handOffUnderLoad(t, 100_000, rounds)
}

func handOffUnderLoad(t *testing.T, boards, rounds int) {
	i := spawnImage(t, conf(fmt.Sprintf(`(def max-boards %d) (def min-boards %d) (def http-max-connections-per-ip 100)`, 2*boards, boards)))
	until(t, "the boards are there", func() bool { return i.status().boards() >= boards })
	pid := i.status().PID
	over := gather(t, "ws://127.0.0.1:"+i.port+"/ws", 20)
	over.play()

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var report loader.Report
	var failed error
	var load sync.WaitGroup
	greeted := make(chan struct{})
	load.Go(func() {
		// A datagram without an answer would be sent again after this time, and be
		// counted.
		report, failed = loader.Run(ctx, loader.Options{
			Server: netip.MustParseAddrPort("127.0.0.1:" + i.port), Mode: loader.Moves, Clients: 180,
			Duration: time.Hour, Greet: patience, Drain: patience, Wait: patience / 2,
			EverySecond: func(loader.Second) { once(greeted) },
		})
	})
	await(t, greeted, "the load has begun")
	reader := readOn("http://127.0.0.1:" + i.port + "/api/live")
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
		t.Logf("handoff %d: frozen %v: %v", round, done.Frozen.Duration(), done.Phases)
		over.more(t, 40)
	}
	over.finish()
	reader.end(t)
	lost := drops(t, i.port)
	stop()
	load.Wait()
	if failed != nil {
		t.Error(failed)
	}
	if c := report.Counts; c.Forgotten+c.Moved+c.Timeouts+c.Resent+c.Malformed+c.Refused > 0 {
		t.Errorf("something did not go straight: %+v", c)
	}
	if lost != 0 {
		t.Errorf("the kernel dropped %d datagrams", lost)
	}
	if left := i.leftovers(); len(left) > 0 {
		t.Errorf("state files are left: %v", left)
	}
	t.Logf("%d messages are in the journal alone", i.status().pending())
	i.kill()
	i.launch()
	i.end()
	slices.Sort(frozen)
	t.Logf("%d boards, %d handoffs: frozen p50 %v, p90 %v, max %v; longest gap between answers %v; %d moves over UDP, %d over WebSocket",
		boards, rounds, frozen[len(frozen)/2], frozen[len(frozen)*9/10], frozen[len(frozen)-1], report.LongestGap, report.AcceptedCount(), over.moves.Load())
	verifyBoth(t, i.dir, &report, over)
}

// reader asks over HTTP again and again, and takes down what is not an answer.
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

// end stops asking: every question must have been answered.
func (r *reader) end(t *testing.T) {
	t.Helper()
	close(r.stop)
	<-r.done
	if len(r.problems) > 0 {
		t.Errorf("%d of %d questions over HTTP were not answered: %v", len(r.problems), r.answers, r.problems)
	}
}

// verifyBoth finds every move of the loader and of the crowd in the store, once,
// and no other.
func verifyBoth(t *testing.T, dir string, report *loader.Report, c *crowd) {
	t.Helper()
	store, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "games.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
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
		t.Errorf("the store has %d moves of WebSocket players, %d were accepted and %d are doubtful", others, accepted, doubtful)
	}
}

// TestNoHandoff: whatever is wrong with the next image, players play on, and the
// command says why.
func TestNoHandoff(t *testing.T) {
	i := spawnImage(t, conf(""))
	good := conf("(def port " + i.port + ")")
	i.write("test.conf", good)
	c := gather(t, i.address(), 8)
	c.play()
	script := func(text string) string {
		name := filepath.Join(t.TempDir(), "wamble")
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	verdict := `echo '{"protocol":"` + handoff.Protocol + `","version":"next"}'`
	for _, tc := range []struct {
		name, binary, conf, trouble, want string
	}{
		{name: "no such binary", binary: "/nowhere/wamble", want: "no such file"},
		{name: "not a program", binary: script("\x7fELF and nothing more"), want: "check: the new binary refuses"},
		{name: "another program", binary: "/bin/true", want: "is no wamble that can be handed over to"},
		{name: "another protocol", binary: script("#!/bin/sh\necho '{\"protocol\":\"9\"}'\n"), want: "protocol 9"},
		{name: "it vanishes after the check", binary: script("#!/bin/sh\n" + verdict + "\nrm \"$0\"\n"), want: "exec: exec "},
		{name: "bad configuration", conf: "(def port \"x\")", want: "check: the new binary refuses"},
		{name: "another database", conf: good + `(def db-isolated 1)`, want: "let 'wamble reload' do that first"},
		{name: "it fails at adoption", trouble: "error", want: "the old one serves again: trouble"},
		{name: "it panics at adoption", trouble: "panic", want: "the old one serves again: panic in the start: trouble"},
		{name: "the state is damaged", trouble: "damage", want: "adopt profile default"},
	} {
		i.write("trouble", tc.trouble)
		if tc.conf != "" {
			i.write("test.conf", tc.conf)
		}
		done, err := i.handOff(tc.binary)
		i.write("test.conf", good)
		switch {
		case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %+v, %v; want %q", tc.name, done, err, tc.want)
		}
		c.more(t, 40)
		if left := i.leftovers(); len(left) > 0 {
			t.Errorf("%s: state files are left: %v", tc.name, left)
		}
	}
	i.write("trouble", "")
	// The way of the signal is open again after an exec that failed.
	last := i.status().Handoff.At
	if err := i.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	until(t, "a handoff by signal", func() bool {
		s := i.status()
		return s.Handoff != nil && s.Handoff.Failure == "" && s.Handoff.At.After(last)
	})
	i.write("test.conf", good+`(def state-dir "/nowhere")`)
	if _, err := i.handOff(""); err != nil {
		t.Errorf("a good handoff after all: %v", err)
	}
	if _, err := i.handOff(""); err == nil || !strings.Contains(err.Error(), "not ready: state directory") {
		t.Errorf("without a state directory: got %v", err)
	}
	c.more(t, 40)
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestHandoffKilled: the next image is killed, or exits, before it serves. There
// is nobody to go back to; whoever supervises the process starts it again, and
// nothing that was accepted is lost.
func TestHandoffKilled(t *testing.T) {
	i := spawnImage(t, staying(t, conf("")))
	c := gather(t, i.address(), 8)
	c.play()
	for _, trouble := range []string{"kill", "exit", "late kill"} {
		c.more(t, 100)
		i.write("trouble", trouble)
		if done, err := i.handOff(""); err == nil {
			t.Errorf("%s: got %+v, want an error", trouble, done)
		}
		if err := i.cmd.Wait(); err == nil {
			t.Errorf("%s: the process has ended well", trouble) // nobody would start it again
		}
		i.write("trouble", "")
		i.launch()
		c.more(t, 100)
		if left := i.leftovers(); len(left) > 0 {
			t.Errorf("%s: state files are left: %v", trouble, left)
		}
	}
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestTwoHandoffs: two at once do no harm; each command gets an answer.
func TestTwoHandoffs(t *testing.T) {
	i := spawnImage(t, conf(""))
	c := gather(t, i.address(), 4)
	c.play()
	for range 3 {
		var both sync.WaitGroup
		var errs [3]error
		for n := range errs {
			both.Go(func() { _, errs[n] = i.handOff("") })
		}
		both.Wait()
		worked := 0
		for _, err := range errs {
			switch {
			case err == nil:
				worked++
			case !strings.Contains(err.Error(), "another handoff is under way"):
				t.Errorf("got %v", err)
			}
		}
		if worked == 0 {
			t.Errorf("none of them worked: %v", errs)
		}
		c.more(t, 40)
	}
	c.finish()
	i.end()
	verifySQLite(t, i.dir, c)
}

// TestHandoffWithoutDatabase: the database is away before, during and after a
// handoff; nothing is lost.
func TestHandoffWithoutDatabase(t *testing.T) {
	cluster := pgtest.Start(t, false)
	db := cluster.Migrated(t)
	i := spawnImage(t, conf(postgresConf(db)))
	c := gather(t, i.address(), 6)
	c.play()
	c.more(t, 100)
	cluster.Down(t)
	for range 2 {
		c.more(t, 100)
		if _, err := i.handOff(""); err != nil {
			t.Fatal(err)
		}
	}
	c.more(t, 100)
	cluster.Up(t)
	c.more(t, 100)
	c.finish()
	i.end()
	store, err := postgres.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c.verify(t, store)
}

// private is a directory that nobody else may write to.
func private(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// drops is how many datagrams the kernel has dropped for a port.
func drops(t testing.TB, port string) int {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("/proc/net/udp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", number)) {
			n, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no socket has port %d", number)
	return 0
}

// boards counts those of all profiles.
func (s Status) boards() int {
	n := 0
	for _, p := range s.Profiles {
		for _, of := range p.Boards {
			n += of
		}
	}
	return n
}

// pending counts the messages that the stores do not have yet.
func (s Status) pending() (n uint64) {
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
