package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/store/sqlite"
	"wamble/internal/transport"
	"wamble/internal/watchtest"
	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
	"wamble/wire"
)

// server is a server with one profile.
type server struct {
	Server
	restrict func() // called by Restrictions; nil: it does nothing
}

func (server) TruePorts(c *config.Profile) *config.Profile { return c }
func (server) SeparateStore(string) bool                   { return false }
func (s server) Restrictions() []profile.Input {
	if s.restrict != nil {
		s.restrict()
	}
	return nil
}

// running is a runtime that runs until the test ends.
type running struct {
	*Runtime
	storage *runnertest.Faulty // of the journal
	stop    context.CancelFunc
	ended   chan struct{}
	err     error // why Run ended
}

// run starts a profile on a journal in memory, and waits until it serves.
func run(t *testing.T) *running {
	t.Helper()
	return runAdopted(t, nil)
}

// runAdopted starts a profile from a state; nil: without. changes are applied to its options
// before.
func runAdopted(t *testing.T, a *Adopted, changes ...func(*Options)) *running {
	t.Helper()
	storage := runnertest.NewFaulty(memstore.New())
	r, err := runner.Open(storage, runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "games.db")})
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
	o := Options{
		Name: c.Default.Name, Config: c.Default, Log: slog.New(slog.DiscardHandler), Port: port, Server: server{},
		Database: Database{Store: db, InProcess: true},
		Journal:  Journal{Runner: r, Heal: func(context.Context) error { return nil }},
	}
	for _, change := range changes {
		change(&o)
	}
	rt := &running{storage: storage, ended: make(chan struct{}), Runtime: New(o)}
	if a != nil {
		rt.Succeed(a)
	}
	ctx, stop := context.WithCancel(context.Background())
	rt.stop = stop
	go func() {
		defer close(rt.ended)
		rt.err = rt.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-rt.ended
		port.Close() // which a test may have left
		if err := errors.Join(db.Close(), r.Close()); err != nil {
			t.Error(err)
		}
	})
	<-rt.Up()
	return rt
}

// TestFreezeFailedJournal: the journal fails just before the freeze, and the profile has not
// been told. Its last decision is not durable, and the frozen loop reports that. Thawed, it
// goes on with another instance.
func TestFreezeFailedJournal(t *testing.T) {
	rt := run(t)
	inst, gone := rt.instance.Load(), errors.New("the disk is gone")
	if f, ok := rt.Freeze(t.Context()); !ok || f.Broken() {
		t.Fatal("a loop whose journal works cannot be frozen")
	} else {
		f.Thaw()
	}
	inst.commit.mu.Lock()
	inst.commit.err = gone
	inst.commit.mu.Unlock()
	f, ok := rt.Freeze(t.Context())
	if !ok || !f.Broken() {
		t.Fatalf("got %v, want a frozen loop whose journal is broken", ok)
	}
	f.Thaw()
	inst.fail(gone)
	watchtest.Until(t, "the profile is made anew", func() bool {
		up, _ := rt.Stage()
		return up && rt.instance.Load() != inst
	})
}

// counter is a store that takes long to lease many numbers.
type counter struct {
	Store
	counts chan struct{} // closed: it does not
}

func (c counter) Lease(ctx context.Context, s wamble.Sequence, n int) ([]wamble.Block, error) {
	if n > startNumbers {
		select {
		case <-c.counts:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.Store.Lease(ctx, s, n)
}

// TestStartWithFewNumbers: a start waits for a few numbers only, and gets the rest soon.
func TestStartWithFewNumbers(t *testing.T) {
	counts := make(chan struct{})
	rt := runAdopted(t, nil, func(o *Options) { o.Database.Store = counter{o.Database.Store, counts} })
	left := func(s wamble.Sequence) (n int64) {
		rt.Do(t.Context(), func(p *profile.Profile) {
			for _, b := range p.Numbers(s) {
				n += b.Count
			}
		})
		return n
	}
	for _, s := range []wamble.Sequence{wamble.BoardIDs, wamble.SessionIDs, wamble.PlayerIDs} {
		if n := left(s); n == 0 || n > startNumbers {
			t.Errorf("it starts with %d %s", n, s)
		}
	}
	close(counts)
	watchtest.Until(t, "there are many numbers", func() bool { return left(wamble.PlayerIDs) > startNumbers })
}

// TestTellStarting: a ban that is ordered while a profile starts, after the profile has read
// the stored restrictions, holds when it serves players.
func TestTellStarting(t *testing.T) {
	rt := run(t)
	inst, told := rt.instance.Load(), errors.New("nobody was told")
	rt.o.Server = server{restrict: func() {
		_, _, told = rt.Tell(t.Context(),
			&profile.Ban{Whom: profile.Target{Net: netip.MustParsePrefix("127.0.0.0/8")}, Text: "spam"})
	}}
	inst.fail(errors.New("the disk is gone"))
	watchtest.Until(t, "the profile is made anew", func() bool {
		up, _ := rt.Stage()
		return up && rt.instance.Load() != inst
	})
	if !errors.Is(told, ErrNotUp) {
		t.Fatalf("while it starts: got %v, want %v", told, ErrNotUp)
	}
	c, err := net.Dial("udp", rt.Port().Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello, err := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{})
	if err == nil {
		_, err = c.Write(hello)
	}
	if err != nil {
		t.Fatal(err)
	}
	watchtest.Until(t, "somebody who is banned is turned away", func() bool {
		var banned, new uint64
		rt.Do(t.Context(), func(p *profile.Profile) { banned, new = p.Stats().Host.Banned, p.Stats().Offers })
		if new > 0 {
			t.Fatal("somebody who is banned is greeted")
		}
		return banned > 0
	})
}

// TestMoveAnswers: packets in the socket of a port that is left are answered, without being
// sent again.
func TestMoveAnswers(t *testing.T) {
	rt := run(t)
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hello, err := wire.Append(nil, wire.Header{Seq: 1}, wire.ClientHello{})
	if err != nil {
		t.Fatal(err)
	}
	rt.PauseReading(true)
	old := rt.Port()
	if _, err := c.WriteToUDPAddrPort(hello, old.Addr()); err != nil {
		t.Fatal(err)
	}
	next, err := transport.Listen(transport.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		rt.stop()
		<-rt.ended
		next.Close()
	}()
	rt.MoveTo(next)
	rt.PauseReading(false)
	c.SetReadDeadline(time.Now().Add(watchtest.Patience))
	if _, _, err := c.ReadFromUDPAddrPort(make([]byte, wire.MaxPacket)); err != nil {
		t.Errorf("no answer: %v", err)
	}
	if err := old.UDP().Close(); err == nil {
		t.Error("the old socket was left open: who sends there gets no answer")
	}
}

// TestPanicBesideLoop: a panic of a goroutine beside the loop ends the runtime alone, and the
// error has its stack.
func TestPanicBesideLoop(t *testing.T) {
	rt := run(t)
	rt.guard("a test", func() { panic("a test panics beside the loop") })
	<-rt.ended
	var p *guard.Panic
	if !errors.As(rt.err, &p) || p.Error() != "panic in a test: a test panics beside the loop" ||
		!strings.Contains(string(p.Stack), "runtime_test.go") {
		t.Errorf("the runtime ended with %v", rt.err)
	}
}

// TestRunsAgain: a profile that has failed reads the journal before it asks the store: the
// journal may belong to another machine by then, and the store would never admit this one.
func TestRunsAgain(t *testing.T) {
	rt := run(t)
	rt.guard("a test", func() { panic("a test panics beside the loop") })
	<-rt.ended
	taken := errors.New("it is another's")
	j := *rt.journal()
	j.Heal = func(context.Context) error { return taken }
	rt.Attach(j)
	rt.storage.FailAfter(0, errors.New("it is gone"))
	if _, err := rt.o.Journal.Runner.Update(t.Context(), runner.AttemptPolicy{},
		func(tx *runner.Tx) error { return tx.Put([]byte("k"), nil) }); err == nil {
		t.Fatal("the journal takes something")
	}
	if err := rt.Run(t.Context()); !errors.Is(err, taken) {
		t.Errorf("it ended with %v, want what the look at the journal said", err)
	}
}

// TestPausedQueue: messages in a queue that the host has paused stay in the journal at a
// stop, which does not wait for them, and a start brings them to the store and serves.
func TestPausedQueue(t *testing.T) {
	rt := run(t)
	r, d := rt.o.Journal.Runner, rt.drain.Load()
	rt.stop()
	<-rt.ended // and with it what drains
	if err := r.PauseQueue(t.Context(), fmt.Sprint(d.Worker())); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Post(t.Context(), r, d.Worker(), &intent.RecordMove{Board: 1, Ply: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rt.Shut(ctx, true)
	if ctx.Err() != nil || d.IsEmpty() {
		t.Errorf("the stop waited, or wrote to the store: %v", ctx.Err())
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- rt.Run(ctx) }()
	watchtest.Until(t, "the profile serves", func() bool {
		up, _ := rt.Stage()
		return up && rt.drain.Load().IsEmpty()
	})
	if !rt.drain.Load().IsPaused() {
		t.Error("the pause has ended")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
