package handoff

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/store/sqlite"
	"wamble/internal/transport"
	"wamble/internal/watchtest"
	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/wire"
)

// server is a server with one profile.
type server struct{ loop.Server }

func (server) TruePorts(c *config.Profile) *config.Profile { return c }
func (server) SeparateStore(string) bool                   { return false }
func (server) Restrictions() []profile.Input               { return nil }

// serving is a server of one profile that could be handed over, until the test
// ends.
func serving(t *testing.T) *Process {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(dir, "games.db")})
	if err != nil {
		t.Fatal(err)
	}
	port, err := transport.Listen(transport.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	rt := loop.New(loop.Options{
		Name: c.Default.Name, Config: c.Default, Log: slog.New(slog.DiscardHandler), Port: port, Server: server{},
		Database: loop.Database{Store: db, InProcess: true},
		Journal:  loop.Journal{Runner: r, Heal: func(context.Context) error { return nil }},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, port.Close(), db.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	<-rt.Up()
	return &Process{
		StateDir: dir, Log: slog.New(slog.DiscardHandler), Runners: []*runner.Runner{r}, Profiles: []*loop.Runtime{rt},
		Pause: func(context.Context, bool) {}, Resume: func() {},
	}
}

// greet says hello to a server and waits for its answer.
func greet(t *testing.T, s *Process) {
	t.Helper()
	c, err := net.Dial("udp", s.Profiles[0].Port().Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello, err := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(watchtest.Patience))
	if _, err := c.Read(make([]byte, wire.MaxPacket)); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
}

// TestStateNotWritten: if a state file cannot be written when everything is frozen already,
// everything goes on.
func TestStateNotWritten(t *testing.T) {
	s := serving(t)
	for range 3 {
		greet(t, s)
		l := newLeaving(s)
		for _, do := range []func(context.Context) error{l.selectServing, l.makeFiles, l.flush, l.pause,
			l.freeze} {
			if err := do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range l.files {
			f.Remove() // closed: it takes nothing any more
		}
		var export *ExportError
		if err := l.writeStates(t.Context()); !errors.As(err, &export) || export.Status != ExportNotReady {
			t.Errorf("got %v, want %v", err, ExportNotReady)
		}
		l.rollBack()
	}
	greet(t, s)
}

// TestAdopt: the next process adopts what one has written.
func TestAdopt(t *testing.T) {
	s := serving(t)
	greet(t, s)
	l := newLeaving(s)
	for _, do := range []func(context.Context) error{l.selectServing, l.makeFiles, l.flush, l.pause,
		l.freeze, l.writeStates} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next := Begin(l.next, []*config.Profile{s.Profiles[0].Config()})
	if err := next.Adopt(nil); err != nil {
		t.Errorf("the state cannot be adopted: %v", err)
	}
	for _, path := range l.next.States {
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
	}
	next = Begin(l.next, []*config.Profile{s.Profiles[0].Config()})
	if err := next.Adopt(nil); !errors.Is(err, ErrStateFile) {
		t.Errorf("half a state: got %v, want %v", err, ErrStateFile)
	}
	l.rollBack()
	greet(t, s)
}

// TestSteps: every step of a handoff has its name, once.
func TestSteps(t *testing.T) {
	met := map[string]bool{}
	for _, step := range steps {
		if step.name == "" || step.do == nil || met[step.name] {
			t.Errorf("step %q is empty or there twice", step.name)
		}
		met[step.name] = true
	}
	if !met["freeze"] {
		t.Error("no step is named freeze, whose beginning Note.Frozen is")
	}
}

// TestFinish: a handoff ends when the profiles that were handed over serve. A new one that
// waits for its database delays nothing: garbage is collected again, the states are removed,
// and the handoff's caller is answered.
func TestFinish(t *testing.T) {
	s := serving(t)
	greet(t, s)
	waiting := loop.New(loop.Options{Name: "waiting", Config: s.Profiles[0].Config()}) // it is never up
	state := write(t, s.StateDir, "default", []byte("a state"))
	h := &Inheritance{States: map[string]string{"default": state}, served: []string{"default"}}
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	h.restoreGC = sync.OnceFunc(pauseGC())
	next := &Successor{inheritance: h, ended: make(chan struct{})}
	next.Finish(t.Context(), append(s.Profiles, waiting), "next", time.Now(), s.Log, nil)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("garbage is collected at %d %%, want 100 %%", got)
	}
	if r := next.Result(); r == nil || r.To != "next" {
		t.Errorf("the result is %+v", r)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is there: %v", err)
	}
}
