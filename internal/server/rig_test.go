package server

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/observe"
	"wamble/internal/profile"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
	"wamble/internal/transport"
	"wamble/internal/watchtest"
)

// asServer is set in a child process that runs a server: its value is the data directory, and
// the configuration is on its standard input. A reload reads it from reload.conf in the data
// directory.
const asServer = "WAMBLE_TEST_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asServer); dir != "" {
		beServer(dir)
		return
	}
	if dir := os.Getenv(asImage); dir != "" {
		beImage(dir)
		return
	}
	if dir := os.Getenv(asHolder); dir != "" {
		beHolder(dir)
		return
	}
	if task := os.Getenv(asVandals); task != "" {
		beVandals(task)
		return
	}
	if os.Getenv(asEcho) != "" {
		beEcho()
		return
	}
	pgtest.Main(m)
}

// asLease is the lease of a server in a child process; "": the default.
const asLease = "WAMBLE_TEST_LEASE"

// Leases of servers in tests. The long one outlasts any slow machine, for tests without a
// crash; tests in which one server takes over from a crashed one wait for the shorter one.
const (
	noneDies = time.Minute
	oneDies  = 5 * time.Second
)

// beServer runs a server in a process of its own. It prints where it listens when it is
// ready, and stops in order at SIGTERM.
func beServer(dir string) {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	c, err := config.Load("test.conf", string(text), config.Params{})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lease, _ := time.ParseDuration(os.Getenv(asLease))
	skew := clockOf(dir)
	s, err := Open(Options{Lease: lease, Skew: skew, Config: c, Dir: dir, Log: observe.NewLog(os.Stderr, c),
		Load: func() (*config.Config, error) {
			text, err := os.ReadFile(filepath.Join(dir, "reload.conf"))
			if err != nil {
				return nil, err
			}
			return config.Load("reload.conf", string(text), config.Params{})
		}})
	if err != nil {
		panic(err)
	}
	go func() {
		for s.WaitReady(ctx) == nil && s.isStandby() {
			sleep(ctx, servingPause)
		}
		if all := s.Profiles(); s.WaitReady(ctx) == nil && len(all) > 0 { // none: Run fails
			fmt.Printf("%d %s\n", all[0].UDP.Port(), s.Admin())
		}
	}()
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
}

// clockOf returns how far the wall clock of a process is set wrong: the offset in the file
// "clock" in its directory, which is read at the start and at SIGUSR1. The clock of the
// machine is shared by all processes, and a time namespace leaves the wall clock as it is.
func clockOf(dir string) func() time.Duration {
	var by atomic.Int64
	read := func() {
		if text, err := os.ReadFile(filepath.Join(dir, "clock")); err == nil {
			d, err := time.ParseDuration(string(text))
			if err != nil {
				panic(err)
			}
			by.Store(int64(d))
		}
	}
	read()
	steps := make(chan os.Signal, 1)
	signal.Notify(steps, syscall.SIGUSR1)
	go func() {
		for range steps {
			read()
		}
	}()
	return func() time.Duration { return time.Duration(by.Load()) }
}

// conf is a configuration for tests: loopback, ports that the kernel chooses, and as much
// time for the journal to reach the store at the end as a busy machine may need. Otherwise
// messages would stay in the journal, and a test would miss them.
func conf(more string) string {
	return `(def listen-address "127.0.0.1") (def port 0) (def admin-listen "127.0.0.1:0") (def disk-reserve-mb 0) (def shutdown-timeout 120)
(def log-level "warn") (def rate-limit-ip-requests-per-sec 0) (def rate-limit-requests-per-sec 0) (def new-players-per-ip-per-min 0) (def min-boards 8)
` + more
}

// givenPorts has the ports that freePorts has returned. Another test may not use them yet.
var givenPorts sync.Map

// freePorts returns ports that are free for UDP and TCP, below those that the kernel gives to
// clients: so they stay free while their server is down. None is returned twice.
func freePorts(t testing.TB, n int) []uint16 {
	t.Helper()
	var free []uint16
	for len(free) < n {
		number := uint16(10000 + rand.IntN(20000))
		if _, given := givenPorts.LoadOrStore(number, true); given {
			continue
		}
		p, err := transport.Listen(transport.Options{Address: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"),
			number)})
		if err != nil {
			continue
		}
		defer p.Close() // when all are chosen, so that they differ
		free = append(free, number)
	}
	return free
}

// staying is a configuration whose server comes back to the same port.
func staying(t testing.TB, text string) string {
	t.Helper()
	return strings.Replace(text, "(def port 0)", fmt.Sprintf("(def port %d)", freePorts(t, 1)[0]), 1)
}

// postgresConf are the options that name a database.
func postgresConf(o postgres.Options) string {
	return fmt.Sprintf("(def db-host %q) (def db-port %d) (def db-user %q) (def db-pass %q) (def db-name %q) (def db-sslmode %q)\n",
		o.Host, o.Port, o.User, o.Password, o.Name, "disable")
}

func loadConf(t testing.TB, text string) *config.Config {
	t.Helper()
	c, err := config.Load("test.conf", text, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openPostgres opens the store in a database until the test ends.
func openPostgres(t testing.TB, db postgres.Options) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// openSQLite opens the games of a data directory until the test ends.
func openSQLite(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	games, err := sqlite.Open(sqlite.Options{Path: dir + "/games.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { games.Close() })
	return games
}

// migratedFile is an SQLite database with the newest schema and nothing in it.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "wamble-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "games.db")
	db, err := sqlite.Open(sqlite.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(db.Migrate(context.Background(), nil), db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// layFile puts a migrated SQLite database into a data directory in which no server has been
// yet, so that only the tests of migrations wait for them.
func layFile(t testing.TB, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, "games.db")
	for _, used := range []string{path, JournalDir(dir)} {
		if _, err := os.Stat(used); err == nil {
			return
		}
	}
	if strings.Contains(text, "(def db-host ") {
		return
	}
	file, err := migratedFile()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// here is a server in this process.
type here struct {
	*Server
	t    testing.TB
	stop context.CancelFunc
	done chan struct{}
	err  error
	log  *watchtest.Log
}

// serve starts a server that stops with the test, with the lease noneDies if o has none. It
// does not wait until it is ready.
func serve(t testing.TB, o Options, text string) *here {
	t.Helper()
	h := &here{t: t, done: make(chan struct{}), log: &watchtest.Log{}}
	o.Config = loadConf(t, text)
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	layFile(t, o.Dir, text)
	o.Lease = cmp.Or(o.Lease, noneDies)
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	h.Server = s
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		defer close(h.done)
		h.err = s.Run(ctx)
	}()
	t.Cleanup(func() {
		h.end()
		if t.Failed() {
			t.Logf("the log of the server:\n%s", h.log)
		}
	})
	return h
}

// end stops the server in order.
func (h *here) end() {
	h.t.Helper()
	h.stop()
	<-h.done
	if h.err != nil {
		h.t.Errorf("the server ended with %v", h.err)
		h.err = nil
	}
}

// ready waits until players are served.
func (h *here) ready() *here {
	h.t.Helper()
	up := make(chan struct{})
	go func() {
		if h.WaitReady(h.t.Context()) == nil {
			close(up)
		}
	}()
	select {
	case <-up:
	case <-h.done:
		h.t.Fatalf("the server ended: %v", h.err)
	case <-time.After(patience):
		h.t.Fatalf("the server is not ready: %s\n%s", h.readyz(), h.log)
	}
	return h
}

// addresses are where the first profile listens, and the admin listener.
type addresses struct {
	UDP, HTTP netip.AddrPort
	Admin     string
}

func (h *here) Addresses() addresses {
	first := h.Profiles()[0]
	return addresses{first.UDP, first.HTTP, h.Admin()}
}

// first returns the first profile.
func (h *here) first() *Profile { return h.profiles()[0] }

// life returns the first profile in memory, which is another one after a restart of the
// profile.
func (h *here) life() (life *profile.Profile) {
	h.first().shards[0].runtime.Do(h.t.Context(), func(p *profile.Profile) { life = p })
	return life
}

// crash makes the loop of the first profile panic.
func (h *here) crash(why string) {
	h.first().shards[0].runtime.Do(h.t.Context(), func(*profile.Profile) { panic(why) })
}

func (h *here) address() string { return "udp://" + h.Addresses().UDP.String() }

func (h *here) readyz() string { return fetch(h.t, "http://"+h.Addresses().Admin+"/readyz") }

const patience = watchtest.Patience

var until = watchtest.Until

// metrics fetches the metrics, as a host would.
func (h *here) metrics() string {
	h.t.Helper()
	token, err := os.ReadFile(h.dir + "/admin-token")
	if err != nil {
		h.t.Fatal(err)
	}
	return fetchWith(h.t, "http://"+h.Admin()+"/metrics", strings.TrimSpace(string(token)))
}

// fetch returns the code and the body of a page.
func fetch(t testing.TB, url string) string {
	t.Helper()
	return fetchWith(t, url, "")
}

// fetchWith is fetch with a token.
func fetchWith(t testing.TB, url, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(body)))
}

// child is a server in a process of its own.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	port  string
	admin string
	log   *watchtest.Log
}

// spawn starts a server on a directory and waits until it is ready.
func spawn(t testing.TB, dir, text string) *child {
	t.Helper()
	c, out := begin(t, dir, text, asLease+"="+noneDies.String())
	c.awaitReady(out)
	return c
}

// respawn is spawn after another server was killed, or for a dump of a running one.
func respawn(t testing.TB, dir, text string) *child {
	t.Helper()
	c, out := begin(t, dir, text, asLease+"="+oneDies.String())
	c.awaitReady(out)
	return c
}

// awaitReady waits for what the server prints when it is ready.
func (c *child) awaitReady(out io.Reader) {
	c.t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
		c.t.Fatalf("the server did not start: %v\n%s", err, c.log)
	}
	c.port, c.admin, _ = strings.Cut(strings.TrimSpace(line), " ")
}

// begin starts a server on a directory; out is its output when it is ready.
func begin(t testing.TB, dir, text string, env ...string) (_ *child, out io.Reader) {
	t.Helper()
	return beginWith(t, dir, text, (*exec.Cmd).Start, env...)
}

// beginWith is begin with another way to start the process.
func beginWith(t testing.TB, dir, text string, start func(*exec.Cmd) error, env ...string) (_ *child, out io.Reader) {
	t.Helper()
	layFile(t, dir, text)
	c := &child{t: t, log: &watchtest.Log{}}
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(append(os.Environ(), asServer+"="+dir), env...)
	c.cmd.Stdin = strings.NewReader(text)
	c.cmd.Stderr = c.log
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(c.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil { // the test failed before it ended the server
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
		if strings.Contains(c.log.String(), "DATA RACE") {
			t.Errorf("the race detector has found something in the server:\n%s", c.log)
		}
	})
	return c, out
}

// converse starts a process of this test binary in the mode that env names. Closing in tells
// it to end, and out is its output.
func converse(t testing.TB, env string) (cmd *exec.Cmd, in io.Closer, out io.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

func (c *child) address() string { return "udp://127.0.0.1:" + c.port }

// kill ends the server as a crash does.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Error(err)
	}
	c.cmd.Wait()
}

// end stops the server in order.
func (c *child) end() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the server ended with %v\n%s", err, c.log)
	}
}
