// Package runnertest is the conformance suite of package runner, as tables of tests: what a
// Storage must do, and what the runner must guarantee on it. It also has a Clock and a failing
// storage for tests.
//
//	func TestStorage(t *testing.T) {
//		runnertest.Run(t, func(t *testing.T) runner.Storage { return myStorage(t) })
//	}
package runnertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/internal/mailbox"
)

// Run runs the whole suite. open returns a new, empty storage for each test.
func Run(t *testing.T, open func(t *testing.T) runner.Storage) { runGroups(t, suite, open) }

// RunStorage runs only the tests of the storage itself, and those of recovery after a restart:
// for a slow storage that Run tests less often.
func RunStorage(t *testing.T, open func(t *testing.T) runner.Storage) {
	runGroups(t, []group{{"storage", storageCases}, {"recovery", recoveryCases}}, open)
}

func runGroups(t *testing.T, groups []group, open func(t *testing.T) runner.Storage) {
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					v := newEnv(t, open(t))
					if !c.unstarted {
						v.start()
					}
					c.run(v)
				})
			}
		})
	}
}

type test struct {
	name      string
	unstarted bool // run starts the runner itself, if it needs one
	run       func(v *env)
}

type group struct {
	name  string
	cases []test
}

// suite has all groups of tests.
var suite = []group{
	{"storage", storageCases},
	{"boot", bootCases}, {"step", stepCases}, {"mailbox", mailboxCases}, {"poll", pollCases},
	{"dead letters", deadCases}, {"outbox", outboxCases}, {"timers", timerCases},
	{"transactions", txCases}, {"attempts", attemptCases}, {"events", eventCases},
	{"worker", workerCases}, {"batches", batchCases}, {"bundles", bundleCases}, {"ordered", orderedCases},
	{"dedupe", dedupeCases}, {"priority", priorityCases}, {"recovery", recoveryCases}, {"inspect", inspectCases},
	{"failure", failureCases}, {"group", groupCases}, {"queues", queueCases}, {"operate", operateCases},
	{"messages", messageCases}, {"schedules", scheduleCases}, {"metrics", metricsCases},
}

// env is one test's runner, with a clock that is set to 100 ms.
type env struct {
	*testing.T
	ctx     context.Context
	storage *Faulty
	clock   *Clock
	opts    runner.Options
	r       *runner.Runner
}

func newEnv(t *testing.T, s runner.Storage) *env {
	v := &env{T: t, ctx: context.Background(), storage: NewFaulty(s), clock: NewClock(100)}
	v.opts = runner.Options{Create: true, Now: v.clock.Now, Sleep: v.clock.Sleep, MinFree: -1, Policy: atOnce(nil)}
	return v
}

// start opens the runner and closes it at the end of the test.
func (v *env) start() *env {
	v.Helper()
	r, err := runner.Open(v.storage, v.opts)
	if err != nil {
		v.Fatalf("open: %v", err)
	}
	v.r = r
	v.Cleanup(func() { r.Close() })
	return v
}

// restart closes the runner and opens it again.
func (v *env) restart() {
	v.Helper()
	v.ok(v.r.Close())
	v.start()
}

func (v *env) ok(err error) {
	v.Helper()
	if err != nil {
		v.Fatalf("got %v, want no error", err)
	}
}

func (v *env) is(err, want error) {
	v.Helper()
	if !errors.Is(err, want) {
		v.Fatalf("got error %v, want %v", err, want)
	}
}

func equal[T comparable](v *env, what string, got, want T) {
	v.Helper()
	if got != want {
		v.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func same[T comparable](v *env, what string, got, want []T) {
	v.Helper()
	if !slices.Equal(got, want) {
		v.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// msg returns a message to worker to with id also as its payload.
func msg(to uint64, id string, flags ...runner.Flags) *runner.Message {
	m := runner.Message{To: to, RouteWorker: to, ID: []byte(id), Payload: []byte(id)}
	for _, f := range flags {
		m.Flags |= f
	}
	return &m
}

// frame returns msg encoded.
func frame(to uint64, id string, flags ...runner.Flags) []byte {
	b, err := msg(to, id, flags...).Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

func (v *env) post(to uint64, id string, flags ...runner.Flags) runner.Row {
	v.Helper()
	row, err := v.r.Post(v.ctx, msg(to, id, flags...))
	v.ok(err)
	return row
}

func (v *env) posts(to uint64, ids ...string) {
	v.Helper()
	for _, id := range ids {
		v.post(to, id)
	}
}

// number posts n messages with the ids 0, 1, 2 …
func (v *env) number(to uint64, n int) {
	v.Helper()
	for i := range n {
		v.post(to, fmt.Sprint(i))
	}
}

func (v *env) insert(worker, seq uint64, id string) {
	v.Helper()
	v.ok(v.store(worker, seq, frame(worker, id)))
}

// store inserts bytes as the message with a number.
func (v *env) store(worker, seq uint64, frame []byte) error {
	return mailbox.Insert(v.ctx, v.r, worker, seq, frame)
}

// steal takes the lease of a row until ms, as if another program used the storage too.
func (v *env) steal(row runner.Row, ms int64) error {
	return mailbox.Claim(v.ctx, v.r, row.Worker, row.Seq, when(ms))
}

// rows returns the sequence numbers in a worker's inbox.
func (v *env) rows(worker uint64) []uint64 {
	v.Helper()
	list, err := v.r.Inbox(worker, 0, 1000)
	v.ok(err)
	var out []uint64
	for _, r := range list {
		out = append(out, r.Seq)
	}
	return out
}

// leases returns how many rows of a worker's inbox are held or parked.
func (v *env) leases(worker uint64) (held, parked int) {
	for _, in := range v.r.Stats().Inboxes {
		if in.Worker == worker {
			return in.Leased, in.Parked
		}
	}
	return 0, 0
}

func (v *env) dead() []runner.DeadLetter {
	v.Helper()
	list, err := v.r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 1000)
	v.ok(err)
	return list
}

// atOnce returns p with retries without a delay, unless p sets one: most tests need the next
// delivery at once.
func atOnce(p *runner.Policy) runner.Policy {
	if p == nil {
		p = &runner.Policy{}
	}
	at := *p
	if at.RetryDelay == 0 {
		at.RetryDelay = -1
	}
	return at
}

// worker adds a worker with a handler of single messages.
func (v *env) worker(id uint64, o runner.WorkerOptions, h func(d *runner.Delivery) error) *runner.Worker {
	v.Helper()
	o.Handler = func(_ context.Context, _ *runner.Tx, d *runner.Delivery) error { return h(d) }
	p := atOnce(o.Policy)
	o.Policy = &p
	w, err := v.r.NewWorker(id, o)
	v.ok(err)
	return w
}

func (v *env) tick(w *runner.Worker, want int) {
	v.Helper()
	n, err := w.Tick(v.ctx)
	v.ok(err)
	equal(v, "processed", n, want)
}

// ticks calls Tick n times, whatever it processes.
func (v *env) ticks(w *runner.Worker, n int) {
	v.Helper()
	for range n {
		_, err := w.Tick(v.ctx)
		v.ok(err)
	}
}

// plant writes raw rows into a storage that is not open.
func (v *env) plant(rows ...raw) {
	v.Helper()
	b, err := v.storage.Open(func(error) {})
	v.ok(err)
	batch := b.Batch()
	for _, r := range rows {
		batch.Set(append([]byte{r.table}, r.key...), r.value)
	}
	v.ok(batch.Commit())
	v.ok(b.Close())
}

// raw is a stored row: number of the table, key and value.
type raw struct {
	table      byte
	key, value []byte
}

func rowKey(worker, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, worker), seq)
}

// stored reads a raw row of a storage that is not open.
func (v *env) stored(table byte, key []byte) []byte {
	v.Helper()
	b, err := v.storage.Open(func(error) {})
	v.ok(err)
	value, ok, err := b.Get(nil, append([]byte{table}, key...))
	v.ok(err)
	v.ok(b.Close())
	if !ok {
		return nil
	}
	return bytes.Clone(value)
}

func (v *env) place(name string) string { return filepath.Join(v.TempDir(), name) }

// when returns the time n milliseconds after the start of 1970.
func when(n int64) time.Time { return time.UnixMilli(n) }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

var (
	errBusy = runner.Retry(errors.New("busy"), 0)
	errHard = errors.New("hard")
)
