package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// fakeStore keeps what it is given, except the messages that the test makes it refuse and the
// calls that the test makes fail.
type fakeStore struct {
	store.Store
	cursor  uint64
	applied []string
	batches int
	refuse  map[string]bool // by name of the intent
	because string          // in the words of Probe; "constraint violated" if ""
	fail    []error         // of the next calls of Apply
	lost    bool            // the next commit succeeds, and its answer is lost
	probes  int
}

func (s *fakeStore) Cursor(context.Context, store.JournalID, string) (uint64, error) {
	return s.cursor, nil
}

func (s *fakeStore) Apply(_ context.Context, b store.Batch) error {
	if len(s.fail) > 0 {
		err := s.fail[0]
		s.fail = s.fail[1:]
		if err != nil {
			return err
		}
	}
	if b.After != s.cursor {
		return &store.CursorMoved{At: s.cursor}
	}
	for _, in := range b.Intents {
		if s.refuse[name(in)] {
			return errors.New("constraint violated")
		}
	}
	for _, in := range b.Intents {
		s.applied = append(s.applied, name(in))
	}
	s.cursor = b.Through
	s.batches++
	if s.lost {
		s.lost = false
		return fmt.Errorf("connection reset: %w", store.ErrTransient)
	}
	return nil
}

func (s *fakeStore) Probe(_ context.Context, b store.Batch) (rejected []store.Rejection, err error) {
	s.probes++
	if b.After >= b.Through {
		return nil, fmt.Errorf("the cursor cannot step from %d to %d", b.After, b.Through)
	}
	for i, in := range b.Intents {
		if s.refuse[name(in)] {
			rejected = append(rejected,
				store.Rejection{Index: i, Err: errors.New(cmp.Or(s.because, "constraint violated"))})
		}
	}
	return rejected, nil
}

func openDrain(t *testing.T, store store.Store) (*runner.Runner, *Drain) {
	t.Helper()
	r, err := runner.Open(memstore.New(), runner.Options{Schema: Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	d, err := NewDrain(t.Context(), r, store, DrainOptions{Profile: "blue", Limits: Limits{Intents: 4, Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	return r, d
}

func post(t *testing.T, r *runner.Runner, d *Drain, intents ...intent.Intent) {
	t.Helper()
	if _, err := Post(t.Context(), r, d.Worker(), intents...); err != nil {
		t.Fatal(err)
	}
}

func move(board wamble.BoardID, ply int) intent.Intent {
	return &intent.RecordMove{Board: board, Ply: ply}
}

func empty(t *testing.T, d *Drain) {
	t.Helper()
	if err := d.DrainAll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

func deadLetters(t *testing.T, r *runner.Runner) (got []string) {
	t.Helper()
	letters, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range letters {
		m, err := runner.DecodeMessage(l.Frame)
		if err != nil {
			t.Fatal(err)
		}
		intents, err := DecodeMessage(&m)
		if err != nil {
			got = append(got, l.Reason)
		}
		for _, in := range intents {
			got = append(got, name(in)+": "+l.Reason)
		}
	}
	return got
}

func TestDrainAppliesInOrder(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	var want []string
	for ply := 1; ply <= 10; ply++ {
		post(t, r, d, move(1, ply))
		want = append(want, name(move(1, ply)))
	}
	empty(t, d)
	if !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
	if db.batches != 3 { // 4 + 4 + 2
		t.Errorf("got %d batches, want 3", db.batches)
	}
	if d.Applied() != 10 || d.Pending() != 0 {
		t.Errorf("got applied %d, pending %d, want 10, 0", d.Applied(), d.Pending())
	}
}

// TestEmptyTellsItsProgress, as a cold start logs it.
func TestEmptyTellsItsProgress(t *testing.T) {
	r, d := openDrain(t, &fakeStore{fail: []error{fmt.Errorf("away: %w", store.ErrTransient)}})
	for ply := 1; ply <= 10; ply++ {
		post(t, r, d, move(1, ply))
	}
	var got []int
	if err := d.DrainAll(t.Context(), func(left int) { got = append(got, left) }); err != nil {
		t.Fatal(err)
	}
	if len(got) < 2 || got[0] != 10 || got[len(got)-1] != 0 {
		t.Errorf("got %v left, want 10 while the store is away, and 0 at the end", got)
	}
}

func TestDrainKeepsABatchThroughTransientErrors(t *testing.T) {
	away := fmt.Errorf("connection refused: %w", store.ErrTransient)
	db := &fakeStore{fail: []error{away, nil, away, away}}
	r, d := openDrain(t, db)
	var troubles []error
	d.o.OnStoreResult = func(err error) { troubles = append(troubles, err) }
	for ply := 1; ply <= 6; ply++ {
		post(t, r, d, move(1, ply))
	}
	empty(t, d)
	want := []string{"move 1/1", "move 1/2", "move 1/3", "move 1/4", "move 1/5", "move 1/6"}
	if !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
	if len(troubles) != 4 || troubles[3] != nil || !errors.Is(troubles[2], store.ErrTransient) {
		t.Errorf("got troubles %v, want three and their end", troubles)
	}
	if got := deadLetters(t, r); got != nil {
		t.Errorf("got dead letters %q, want none", got)
	}
}

// TestDrainUnknownOutcome loses the answer of a commit that succeeded: the
// batch comes again and must not be applied twice.
func TestDrainUnknownOutcome(t *testing.T) {
	db := &fakeStore{lost: true}
	r, d := openDrain(t, db)
	for ply := 1; ply <= 6; ply++ {
		post(t, r, d, move(1, ply))
	}
	empty(t, d)
	want := []string{"move 1/1", "move 1/2", "move 1/3", "move 1/4", "move 1/5", "move 1/6"}
	if !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
}

// TestDrainBuriesOnlyWhatFails has one bad intent among good ones, in its own
// message too.
func TestDrainBuriesOnlyWhatFails(t *testing.T) {
	db := &fakeStore{refuse: map[string]bool{"move 2/1": true}}
	r, d := openDrain(t, db)
	post(t, r, d, move(1, 1))
	post(t, r, d, move(1, 2), move(2, 1))
	post(t, r, d, move(1, 3))
	empty(t, d)
	if want := []string{"move 1/1", "move 1/2", "move 1/3"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
	if got, want := deadLetters(t, r),
		[]string{"move 2/1: RECORD_MOVE: constraint violated"}; !slices.Equal(got, want) {
		t.Errorf("got dead letters %q, want %q", got, want)
	}
	if db.cursor != 3 {
		t.Errorf("got cursor %d, want 3", db.cursor)
	}

	db.refuse = nil
	if n, err := r.ReplayDeadLetters(t.Context(), runner.DeadFilter{}); n != 1 || err != nil {
		t.Fatalf("replay: got %d, %v", n, err)
	}
	empty(t, d)
	if want := []string{"move 1/1", "move 1/2", "move 1/3", "move 2/1"}; !slices.Equal(db.applied, want) {
		t.Errorf("after replay: got %q, want %q", db.applied, want)
	}
}

// TestDrainBuriesAfterACrash crashes between the transaction that left out a bad intent and
// the acknowledgement: the intent must still reach the dead letters.
func TestDrainBuriesAfterACrash(t *testing.T) {
	db := &fakeStore{refuse: map[string]bool{"move 2/1": true}}
	r, d := openDrain(t, db)
	post(t, r, d, move(1, 1))
	post(t, r, d, move(2, 1))
	db.applied, db.cursor = []string{"move 1/1"}, 2 // by the first process
	post(t, r, d, move(1, 2))
	empty(t, d)
	if want := []string{"move 1/1", "move 1/2"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
	if got, want := deadLetters(t, r),
		[]string{"move 2/1: RECORD_MOVE: constraint violated"}; !slices.Equal(got, want) {
		t.Errorf("got dead letters %q, want %q", got, want)
	}
}

// TestDrainBuriesOnce has a bad intent in the first transaction of a batch, and
// the store away, or the answer lost, in a later one: the whole batch comes
// again, the dead letter does not.
func TestDrainBuriesOnce(t *testing.T) {
	away := fmt.Errorf("connection refused: %w", store.ErrTransient)
	for _, tc := range []struct {
		name  string
		store *fakeStore
	}{
		{"the rest is away", &fakeStore{fail: []error{nil, away}}},
		{"the next plan is away", &fakeStore{fail: []error{nil, nil, away, away}}},
		{"the answer is lost", &fakeStore{lost: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.store.refuse = map[string]bool{"move 2/1": true}
			r, d := openDrain(t, tc.store)
			post(t, r, d, move(1, 1))
			post(t, r, d, move(2, 1))
			for ply := 2; ply <= 6; ply++ {
				post(t, r, d, move(1, ply))
			}
			empty(t, d)
			want := []string{"move 1/1", "move 1/2", "move 1/3", "move 1/4", "move 1/5", "move 1/6"}
			if !slices.Equal(tc.store.applied, want) {
				t.Errorf("got %q, want %q", tc.store.applied, want)
			}
			if got, want := deadLetters(t, r),
				[]string{"move 2/1: RECORD_MOVE: constraint violated"}; !slices.Equal(got, want) {
				t.Errorf("got dead letters %q, want %q", got, want)
			}
		})
	}
}

// TestDeadLettersAreTold: each is counted once, in one short report whatever their number,
// and the reason names the kind once.
func TestDeadLettersAreTold(t *testing.T) {
	db := &fakeStore{refuse: map[string]bool{}, because: "RECORD_MOVE: RECORD_MOVE: ply 1 is taken"}
	r, d := openDrain(t, db)
	var told []string
	d.o.OnDeadLetters = func(count int, reason error) { told = append(told, fmt.Sprintf("%d, %v", count, reason)) }
	const bad = 500
	for i := range bad {
		db.refuse[fmt.Sprintf("move %d/1", i+2)] = true
		post(t, r, d, move(wamble.BoardID(i+2), 1))
	}
	db.fail = []error{nil, fmt.Errorf("reset: %w", store.ErrTransient)} // the first batch comes twice
	empty(t, d)
	if want := []string{fmt.Sprint(bad, ", RECORD_MOVE: ply 1 is taken")}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	if got := deadLetters(t, r); len(got) != 100 || got[0] != "move 2/1: RECORD_MOVE: ply 1 is taken" {
		t.Errorf("got %d dead letters, the first %q", len(got), got[:1])
	}
}

// TestDeadLettersAreToldSlowly: a store that refuses messages all the time is reported every
// ten seconds.
func TestDeadLettersAreToldSlowly(t *testing.T) {
	var told []int
	d := &Drain{o: DrainOptions{OnDeadLetters: func(count int, _ error) { told = append(told, count) }}}
	start := time.Unix(1e9, 0)
	for i := range 1_000_000 { // one each millisecond
		d.addDeadLetters(deadLetterBatch{1, errors.New("constraint violated")})
		d.reportDeadLetters(start.Add(time.Duration(i)*time.Millisecond), false)
	}
	d.reportDeadLetters(start, true)
	sum := 0
	for _, n := range told {
		sum += n
	}
	if len(told) != 101 || sum != 1_000_000 {
		t.Errorf("told %d times of %d dead letters, want 101 times of 1000000", len(told), sum)
	}
}

func TestDrainBuriesGarbage(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	m := messageTo(d.Worker(), []byte("junk"))
	if _, err := r.Post(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	post(t, r, d, move(1, 1))
	empty(t, d)
	if want := []string{"move 1/1"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
	if got := deadLetters(t, r); len(got) != 1 {
		t.Errorf("got dead letters %q, want one", got)
	}
}

// TestDrainRefusesACursorThatWentBack: another server writes for this profile.
func TestDrainRefusesACursorThatWentBack(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	post(t, r, d, move(1, 1))
	empty(t, d)
	db.cursor = 0
	post(t, r, d, move(1, 2))
	ctx, cancel := context.WithCancel(t.Context())
	d.o.OnStoreResult = func(err error) {
		if !errors.Is(err, store.ErrTransient) {
			t.Errorf("got %v, want a transient error", err)
		}
		cancel()
	}
	if err := d.DrainAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to wait until it is stopped", err)
	}
	if want := []string{"move 1/1"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
}

// stopping ends the drain in the middle of a transaction.
type stopping struct {
	*fakeStore
	stop context.CancelFunc
}

func (s *stopping) Apply(ctx context.Context, b store.Batch) error {
	if s.stop == nil {
		return s.fakeStore.Apply(ctx, b)
	}
	s.stop()
	s.stop = nil
	return fmt.Errorf("%w: %w", store.ErrTransient, ctx.Err())
}

// TestDrainStops: a stop is not reported as an error of the store, and the next start takes
// the batch up at once.
func TestDrainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	db := &stopping{fakeStore: &fakeStore{}, stop: cancel}
	r, d := openDrain(t, db)
	d.o.OnStoreResult = func(err error) { t.Errorf("got trouble %v, want none", err) }
	post(t, r, d, move(1, 1))
	if err := d.DrainAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to say that it was stopped", err)
	}
	if done, err := d.worker.Tick(t.Context()); done != 1 || err != nil {
		t.Errorf("got %d, %v, want the batch at once", done, err)
	}
	if want := []string{"move 1/1"}; !slices.Equal(db.applied, want) {
		t.Errorf("got %q, want %q", db.applied, want)
	}
}

// TestDrainRuns drains in the background as messages come.
func TestDrainRuns(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	all := make(chan struct{})
	d.o.OnApplied = func(through uint64) {
		if through == 300 {
			close(all)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	for ply := 1; ply <= 300; ply++ {
		post(t, r, d, move(1, ply))
		d.Added(1)
	}
	<-all
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(db.applied) != 300 {
		t.Errorf("got %d applied, want 300", len(db.applied))
	}
}

func TestWorkerOf(t *testing.T) {
	r, d := openDrain(t, &fakeStore{})
	for _, tc := range []struct {
		profile string
		want    uint32
	}{{"blue", d.Worker()}, {"red", 2}, {"green", 3}, {"red", 2}, {"blue", 1}} {
		if got, err := WorkerOf(t.Context(), r, tc.profile); got != tc.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", tc.profile, got, err, tc.want)
		}
	}
}

// A journal that is older than what the store has of it is refused; an emptied
// one is not.
func TestFits(t *testing.T) {
	db := &fakeStore{}
	r, d := openDrain(t, db)
	for _, cursor := range []uint64{0, 1} {
		if db.cursor = cursor; errors.Is(d.Fits(t.Context()), ErrAhead) != (cursor > 0) {
			t.Errorf("a new journal and the cursor at %d: %v", cursor, d.Fits(t.Context()))
		}
	}
	db.cursor = 0
	for ply := range 3 {
		post(t, r, d, move(1, ply+1))
	}
	empty(t, d)
	if err := d.Fits(t.Context()); err != nil || db.cursor == 0 {
		t.Errorf("the journal was emptied to %d: %v", db.cursor, err)
	}
	db.cursor++
	if err := d.Fits(t.Context()); !errors.Is(err, ErrAhead) {
		t.Errorf("the store is one message ahead: %v", err)
	}
}
