package pglog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
	"wamble/runner/runnertest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// lease is the time after the last heartbeat until a mortal node counts as lost.
const lease = 3 * time.Second

// beat is the interval of heartbeats.
const beat = lease / 12

// node is a log of the database, which ends with the test. Its lease lasts longer than the
// test, however slow the machine is.
func node(t *testing.T, o postgres.Options, name string) *pglog.Log {
	t.Helper()
	return openNode(t, o, name, time.Hour)
}

// mortal is a node whose claims can be taken over a lease after its last heartbeat.
func mortal(t *testing.T, o postgres.Options, name string) *pglog.Log {
	t.Helper()
	return openNode(t, o, name, lease)
}

func openNode(t *testing.T, o postgres.Options, name string, lease time.Duration) *pglog.Log {
	t.Helper()
	o.ConnectTimeout = watchtest.Patience // also on a busy machine
	l := pglog.Open(pglog.Options{Database: o, Node: name, Beat: beat, Lease: lease})
	t.Cleanup(l.Close)
	return l
}

func TestLog(t *testing.T) {
	logtest.Run(t, func(t *testing.T) logstore.Log { return node(t, pgtest.Empty(t), "a") })
}

// TestStorage runs the suite of a runner's storage on the log, the whole of it where
// the proofs are long; each case is a shard of one database.
func TestStorage(t *testing.T) {
	db := pgtest.Empty(t)
	run := prooftest.Sized(runnertest.RunStorage, runnertest.RunStorage, runnertest.Run)
	run(t, func(t *testing.T) runner.Storage {
		// No heartbeat may be late, even if the disk of a busy machine is blocked for
		// seconds.
		l := pglog.Open(pglog.Options{Database: db, Node: "a", Beat: beat, Lease: time.Minute, Patience: time.Minute})
		t.Cleanup(l.Close)
		return logstore.New(l, t.Name(), logstore.Options{CheckpointAfter: 5000})
	})
}

// TestClaimOfAnother: the claim of a running node is not taken over; a released log goes to
// the node that it is reserved for.
func TestClaimOfAnother(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	patient := func(name string) *pglog.Log { // no heartbeat may be late
		l := pglog.Open(pglog.Options{Database: db, Node: name, Lease: time.Hour})
		t.Cleanup(l.Close)
		return l
	}
	a, b := patient("a"), patient("b")
	first := claim(t, a)
	add(t, first, "1")
	if _, err := b.Claim(t.Context(), "main", holder(t)); !held(err, "a") {
		t.Fatalf("a claim beside a holder that lives: got %v, want that it belongs to a", err)
	}
	if !a.Holds("main") || b.Holds("main") {
		t.Errorf("who holds it: a %v, b %v, want a", a.Holds("main"), b.Holds("main"))
	}
	ok(t, first.Release(t.Context(), "b"))
	if _, err := a.Claim(t.Context(), "main", holder(t)); !held(err, "") {
		t.Errorf("a claim of what is kept for b: got %v, want that it is kept", err)
	}
	second := claim(t, b)
	add(t, second, "2")
	if a.Holds("main") || !b.Holds("main") {
		t.Errorf("who holds it: a %v, b %v, want b", a.Holds("main"), b.Holds("main"))
	}
	is(t, replay(t, second), "1:1 2:2")
}

// TestClaimOfSilent: the log of a node without a heartbeat for a lease is taken over, and
// nothing of that node is written afterwards.
func TestClaimOfSilent(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a, b := mortal(t, db, "a"), mortal(t, db, "b")
	first := claim(t, b)
	add(t, first, "1")
	add(t, first, "2")
	b.Close() // it sends no heartbeat any more, but could still write
	next := take(t, a)
	const age = `SELECT extract(epoch FROM clock_timestamp() - max(seen_at))::float8 FROM nodes WHERE node LIKE 'b/%'`
	if d := pgtest.Query[float64](t, db, age); d < lease.Seconds() {
		t.Errorf("the log was taken %.2f s after the last beat, before the lease was over", d)
	}
	if _, err := first.Append(t.Context(), []byte("late")); !errors.Is(err, logstore.ErrFenced) {
		t.Errorf("an append of b: got %v, want %v", err, logstore.ErrFenced)
	}
	if err := first.Checkpoint(t.Context(), 2, nothing); !errors.Is(err, logstore.ErrFenced) {
		t.Errorf("a checkpoint of b: got %v, want %v", err, logstore.ErrFenced)
	}
	is(t, replay(t, next), "1:1 2:2")
}

// TestSchema: tables that a newer program has only added to are used, beside it; those that
// need a newer program are refused, with both versions, also by waiting nodes. Tables of an
// older program do not record which version they need.
func TestSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	h := claim(t, node(t, db, "a"))
	add(t, h, "1")
	for i, change := range []string{
		`ALTER TABLE shard_schema DROP COLUMN needs`,
		`ALTER TABLE shard_schema ADD COLUMN needs INT; ALTER TABLE shards ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'; UPDATE shard_schema SET version = 3, needs = 1`,
	} {
		ok(t, h.Release(t.Context(), ""))
		pgtest.Execute(t, db, change)
		h = claim(t, node(t, db, "a"))
		add(t, h, fmt.Sprint(i+2))
	}
	is(t, replay(t, h), "1:1 2:2 3:3")
	ok(t, h.Release(t.Context(), ""))
	for _, change := range []string{`UPDATE shard_schema SET needs = 2`, `UPDATE shard_schema SET needs = NULL`} {
		pgtest.Execute(t, db, change)
		l := node(t, db, "b")
		_, err := l.Claim(t.Context(), "main", holder(t))
		for _, err := range []error{err, l.Await(t.Context(), "main", nil)} {
			if !errors.Is(err, runner.ErrSchema) || !strings.Contains(err.Error(), "have version 3") ||
				!strings.Contains(err.Error(), "this one knows 1") {
				t.Errorf("after %s: got %v, want that the tables are too new", change, err)
			}
		}
	}
	if n := pgtest.Query[int](t, db, `SELECT version FROM shard_schema`); n != 3 {
		t.Errorf("an older program has made version 3 version %d", n)
	}
}

// TestLostClaim: a holder is told that another node has claimed the log.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a := node(t, db, "a")
	lost := make(chan error, 1)
	h, err := a.Claim(t.Context(), "main", logstore.Holder{Lost: func(err error) { lost <- err }})
	ok(t, err)
	pgtest.Execute(t, db, `UPDATE shards SET epoch = epoch + 1, holder = 'b/1'`)
	if err := <-lost; !errors.Is(err, logstore.ErrFenced) {
		t.Errorf("got %v, want %v", err, logstore.ErrFenced)
	}
	letGo(h)
}

// TestLeaseRunsOut: a node that cannot reach the database knows, by its own clock, that it
// holds nothing any more.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	proxy, db := pgtest.NewProxy(t, pgtest.Empty(t))
	a := mortal(t, db, "a")
	lost := make(chan error, 1)
	h, err := a.Claim(t.Context(), "main", logstore.Holder{Lost: func(err error) { lost <- err }})
	ok(t, err)
	proxy.Close()
	if err := <-lost; !errors.Is(err, pglog.ErrLease) {
		t.Errorf("got %v, want %v", err, pglog.ErrLease)
	}
	if a.Holds("main") {
		t.Error("it holds the log after its lease")
	}
	if sight := a.PartitionView("main"); sight.Err == nil {
		t.Error("it sees no reason")
	}
	letGo(h)
}

// TestServerKilled kills PostgreSQL while records are appended. What was acknowledged
// is there, and at most one record more; the same node goes on at once, another one
// waits for a lease.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Server()
	a, b := node(t, db, "a"), node(t, db, "b")
	h := claim(t, a)
	ok(t, a.Await(t.Context(), "main", nil))
	told := make(chan int)
	done := make(chan int)
	go func() {
		defer close(done)
		n := 0
		for {
			if _, err := h.Append(t.Context(), []byte("x")); err != nil {
				done <- n
				return
			}
			if n++; n == 50 {
				close(told)
			}
		}
	}()
	<-told
	cluster.Down(t)
	n := <-done
	letGo(h)
	cluster.Up(t)
	again := claim(t, a)
	if got := len(strings.Fields(replay(t, again))); got < n || got > n+1 {
		t.Errorf("%d records were acknowledged, %d are there", n, got)
	}
	if _, err := b.Claim(t.Context(), "main", holder(t)); !held(err, "a") {
		t.Errorf("a claim of the other node: got %v, want that it belongs to a", err)
	}
	add(t, again, "y")
}

// TestGraceAfterOutage: a node that has read the heartbeats before the database was away
// begins anew: that the other node was silent then does not count.
func TestGraceAfterOutage(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	proxy, way := pgtest.NewProxy(t, db)
	a, b := mortal(t, db, "a"), mortal(t, way, "b")
	letGo(claim(t, a))
	a.Close()
	const age = `SELECT extract(epoch FROM clock_timestamp() - max(seen_at))::float8 FROM nodes WHERE node LIKE 'a/%'`
	closed := time.Duration(pgtest.Query[float64](t, db, age) * float64(time.Second))
	watchtest.Until(t, "b sees the last beat of a",
		func() bool { return b.PartitionView("main").Holder == "a" && b.PartitionView("main").Silence > closed })
	pass := proxy.Still()
	watchtest.Until(t, "b sees nothing more", func() bool { return b.PartitionView("main").Err != nil })
	watchtest.Until(t, "the last beat is old",
		func() bool { return pgtest.Query[float64](t, db, age) > 2*lease.Seconds() })
	began := time.Now()
	pass()
	ok(t, b.Await(t.Context(), "main", nil))
	if d := time.Since(began); d < lease {
		t.Errorf("b may claim %v after the database is back, want a lease", d)
	}
	take(t, b)
}

// TestSyncWaitCancelled: a record that no synchronous standby has is not acknowledged,
// nor is a claim.
func TestSyncWaitCancelled(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, false)
	db := cluster.Server()
	a := node(t, db, "a")
	h := claim(t, a)
	add(t, h, "1")
	pgtest.Execute(t, db, `ALTER SYSTEM SET synchronous_standby_names = 'missing'`)
	pgtest.Execute(t, db, `SELECT pg_reload_conf()`)
	cancelled := func(what string, work func() error) {
		done := make(chan error, 1)
		go func() { done <- work() }()
		for {
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), "no synchronous standby") {
					t.Errorf("%s: got %v, want that no standby has it", what, err)
				}
				return
			default:
				pgtest.Query[int](t, db, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
			}
		}
	}
	cancelled("append", func() (err error) {
		for err == nil { // until the server has applied the setting
			_, err = h.Append(t.Context(), []byte("2"))
		}
		return err
	})
	letGo(h)
	cancelled("claim", func() error {
		_, err := a.Claim(t.Context(), "main", holder(t))
		return err
	})
	pgtest.Execute(t, db, `ALTER SYSTEM RESET synchronous_standby_names`)
	pgtest.Execute(t, db, `SELECT pg_reload_conf()`)
	if got := replay(t, claim(t, a)); !strings.HasPrefix(got, "1:1") {
		t.Errorf("got %q, want what was acknowledged", got)
	}
}

// TestNoStandbyIsTold: a database that waits for no standby is reported at every claim.
func TestNoStandbyIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan error, 1)
	l := pglog.Open(pglog.Options{Database: pgtest.Empty(t), Node: "a", Report: func(err error) { told <- err }})
	defer l.Close()
	claim(t, l)
	if err := <-told; !errors.Is(err, pglog.ErrNoStandby) {
		t.Errorf("got %v, want %v", err, pglog.ErrNoStandby)
	}
}

// TestSilentHost: the first of two hosts does not answer, as one whose machine is lost. A
// node waits, claims and keeps its lease on the second one.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	_, db := pgtest.NewProxy(t, pgtest.Empty(t))
	silent, err := net.Listen("tcp", "127.0.0.1:0") // without Accept
	ok(t, err)
	defer silent.Close()
	db.Host = fmt.Sprintf("%s,127.0.0.1:%d", silent.Addr(), db.Port)
	l := pglog.Open(pglog.Options{Database: db, Node: "a", Lease: time.Hour})
	t.Cleanup(l.Close)
	ctx, cancel := context.WithTimeout(t.Context(), watchtest.Patience)
	defer cancel()
	if err := l.Await(ctx, "main", nil); err != nil {
		t.Fatalf("it waits: %v, %v", err, l.PartitionView("main").Err)
	}
	h := claim(t, l)
	add(t, h, "1")
	watchtest.Until(t, "it is seen on the second host", func() bool { return l.PartitionView("main").Self })
}

// TestPartitionsAreEmptied: records that a checkpoint covers take no space, however many they
// were.
func TestPartitionsAreEmptied(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	h := claim(t, node(t, db, "a"))
	record := make([]byte, 20_000)
	for i := range uint64(60) {
		_, err := h.Append(t.Context(), record)
		ok(t, err)
		if i%5 == 4 {
			ok(t, h.Checkpoint(t.Context(), i+1, nothing))
		}
	}
	const size = `SELECT sum(pg_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = 'shard_log'::regclass`
	if got := pgtest.Query[int64](t, db, size); got > 15*24<<10 {
		t.Errorf("the partitions take %d bytes, want those of the last 10 records at most", got)
	}
	if got := pgtest.Query[int64](t, db,
		`SELECT COALESCE(sum(pg_relation_size(reltoastrelid)), 0)::bigint FROM pg_class WHERE relname LIKE 'shard\_log%'`); got > 0 {
		t.Errorf("%d bytes are in TOAST tables", got)
	}
}

func claim(t *testing.T, l *pglog.Log) logstore.Held {
	t.Helper()
	h, err := l.Claim(t.Context(), "main", holder(t))
	ok(t, err)
	t.Cleanup(func() { letGo(h) })
	return h
}

// take waits until the log can be claimed, as a standby does.
func take(t *testing.T, l *pglog.Log) logstore.Held {
	t.Helper()
	for {
		ok(t, l.Await(t.Context(), "main", nil))
		h, err := l.Claim(t.Context(), "main", holder(t))
		if refused := new(pglog.HeldError); errors.As(err, &refused) {
			continue
		}
		ok(t, err)
		t.Cleanup(func() { letGo(h) })
		return h
	}
}

func holder(*testing.T) logstore.Holder { return logstore.Holder{Lost: func(error) {}} }

// letGo ends a claim as a crash of its process would.
func letGo(h logstore.Held) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.Release(ended, "")
}

func nothing(yield func([]byte) bool) { yield(nil) }

func held(err error, by string) bool {
	var h *pglog.HeldError
	return errors.As(err, &h) && h.Holder == by
}

func add(t *testing.T, h logstore.Held, record string) {
	t.Helper()
	_, err := h.Append(t.Context(), []byte(record))
	ok(t, err)
}

func replay(t *testing.T, h logstore.Held) string {
	t.Helper()
	var all []string
	ok(t, h.Replay(t.Context(), func(seq uint64, record []byte) error {
		all = append(all, fmt.Sprintf("%d:%s", seq, record))
		return nil
	}))
	return strings.Join(all, " ")
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
