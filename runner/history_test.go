package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// countingStorage counts the rows that are read by their key.
type countingStorage struct {
	Storage
	gets atomic.Int64
}

type countingBackend struct {
	Backend
	s *countingStorage
}

func (s *countingStorage) Open(onFail func(error)) (Backend, error) {
	b, err := s.Storage.Open(onFail)
	return countingBackend{b, s}, err
}

func (b countingBackend) Get(dst, key []byte) ([]byte, bool, error) {
	b.s.gets.Add(1)
	return b.Backend.Get(dst, key)
}

// TestSuccessReadsNoHistory: to finish messages, and to forget those that finished long ago, no
// row is read by its key: keys of the history are hashes, which a long queue has on the disk.
func TestSuccessReadsNoHistory(t *testing.T) {
	s := &countingStorage{Storage: NewTestStorage()}
	r, err := Open(s, Options{Create: true, MinFree: -1, KeepHistory: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q, err := Handle(r, "mails", func(context.Context, *Job[string]) error { return nil }, WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := q.Post(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
	}
	before := s.gets.Load()
	if n, err := q.Worker().Tick(t.Context()); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	if n := s.gets.Load() - before; n > 0 {
		t.Errorf("100 messages took %d reads", n)
	}
	done, err := r.Messages("mails", Done, 0, 100)
	if err != nil || len(done) != 10 || done[9].Number != 100 || done[9].Posted.IsZero() || len(done[9].Runs) != 1 {
		t.Errorf("the history has %+v, %v", done, err)
	}
}

// TestHistoryOfAnIDUsedAgain: what is known of messages with the same id, finished or not, over
// a restart and beyond the number that is kept.
func TestHistoryOfAnIDUsedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps string
		state MessageState
		runs  int    // of the message that was posted last
		list  []bool // the finished ones: whether the time of their post is known
	}{
		{"waits", "p", Waiting, 0, nil},
		{"done", "pd", Done, 1, []bool{true}},
		{"done after a failure", "pfd", Done, 2, []bool{true}},
		{"done after a restart", "prd", Done, 1, []bool{true}},
		{"done before a restart", "pdr", Done, 1, []bool{true}},
		{"posted again", "pdp", Waiting, 0, []bool{false}},
		{"done again", "pdpd", Done, 1, []bool{false, true}},
		{"posted again after a restart", "pdrp", Waiting, 0, []bool{false}},
		{"the earlier one is done", "ppd", Waiting, 0, []bool{false}},
		{"the earlier one is forgotten", "ppdFoooo", Retrying, 1, []bool{true, true, true}},
		{"the earlier one is forgotten after a restart", "ppdFroooo", Retrying, 1, []bool{true, true, true}},
		{"forgotten and posted again", "pdoooop", Waiting, 0, []bool{true, true, true}},
		{"forgotten after it was done again", "pdpdoo", Done, 1, []bool{true, true, true}},
	} {
		for _, id := range []string{"a", ""} { // an empty id is made up by the first post
			t.Run(fmt.Sprintf("%s/id=%q", c.name, id), func(t *testing.T) { usedAgain(t, id, c.steps, c.state, c.runs, c.list) })
		}
	}
}

func usedAgain(t *testing.T, id, steps string, state MessageState, runs int, wanted []bool) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, KeepHistory: 3,
		Policy: Policy{RetryDelay: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var fails error
	q, err := Handle(r, "mails", func(context.Context, *Job[string]) error {
		return fails
	}, WorkerOptions{MaxBatch: 1})
	if err != nil {
		t.Fatal(err)
	}
	tick := func(want int) {
		t.Helper()
		if n, err := q.Worker().TickOnce(t.Context(), 1); n != want || err != nil {
			t.Fatal(n, err)
		}
	}
	post := func(id string) string {
		t.Helper()
		id, err := q.Post(t.Context(), "hello", ID(id))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for _, step := range steps {
		switch step {
		case 'p':
			id = post(id)
		case 'd':
			tick(1)
		case 'f', 'F':
			fails = Retry(errors.New("not now"), map[rune]time.Duration{'F': time.Hour}[step])
			tick(0)
			fails = nil
		case 'o': // another message
			post("")
			tick(1)
		case 'r':
			if err := r.Reopen(); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := r.Message("mails", id)
	if err != nil || m.State != state || len(m.Runs) != runs || m.Posted.IsZero() {
		t.Errorf("got %v, %d runs, posted %v, %v, want %v, %d runs", m.State, len(m.Runs), m.Posted, err, state, runs)
	}
	var list []bool
	done, err := r.Messages("mails", Done, 0, 100)
	for i := range done {
		list = append(list, done[i].Posted.Year() > 1970)
		if done[i].State != Done || done[i].ID == "" || done[i].Ended.IsZero() {
			t.Errorf("finished: %+v", done[i])
		}
	}
	if err != nil || !slices.Equal(list, wanted) {
		t.Errorf("finished: got %v, %v, want %v", list, err, wanted)
	}
	_, err = q.Post(t.Context(), "hello", Unique(id))
	if waits := state != Done; errors.Is(err, ErrExists) != waits {
		t.Errorf("a unique message: got %v", err)
	}
}

// TestOutOfOrder: of messages with the same id the record is that of the last one, in whatever
// order they finish.
func TestOutOfOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		order []int // which of three messages finish
		state MessageState
	}{
		{"only the last one", []int{2}, Done},
		{"all but the last one", []int{1, 0}, Active},
		{"the last one, then the first", []int{2, 0}, Done},
		{"backwards", []int{2, 1, 0}, Done},
		{"the last one in between", []int{1, 2, 0}, Done},
		{"in order", []int{0, 1, 2}, Done},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
				if err != nil {
					t.Fatal(err)
				}
				turns := [3]chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
				q, err := Handle(r, "mails", func(_ context.Context, j *Job[int]) error {
					<-turns[j.Args]
					return nil
				}, WorkerOptions{Concurrency: 3, MaxBatch: 1})
				if err != nil {
					t.Fatal(err)
				}
				for i := range turns {
					if _, err := q.Post(t.Context(), i, ID("a")); err != nil {
						t.Fatal(err)
					}
				}
				if err := q.Worker().Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for _, i := range c.order {
					close(turns[i])
					turns[i] = nil
					synctest.Wait()
				}
				m, err := r.Message("mails", "a")
				if err != nil || m.State != c.state || len(m.Runs) > 1 {
					t.Errorf("got %v, %d runs, %v, want %v", m.State, len(m.Runs), err, c.state)
				}
				done, err := r.Messages("mails", Done, 0, 10)
				if err != nil || len(done) != len(c.order) {
					t.Errorf("%d are done, %v, want %d", len(done), err, len(c.order))
				}
				for _, turn := range turns {
					if turn != nil {
						close(turn)
					}
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestHistoryOfAnOlderVersion: a finished row without a run has its record elsewhere.
func TestHistoryOfAnOlderVersion(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1, KeepHistory: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q, err := Handle(r, "mails", func(context.Context, *Job[string]) error { return nil }, WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		id := fmt.Sprint("old", i)
		err := r.engine().do(t.Context(), func(c *commit) error {
			in, hash := c.e.ix.names["mails"], dedupeHash([]byte(id))
			h := record{place: placeDone, seq: uint64(i) + 1, posted: c.now, ended: c.now, id: []byte(id),
				runs: []recordedRun{{ended: c.now, took: time.Second}}}
			c.putRecord(in.worker, hash, &h)
			c.stage(finishedKey(in.worker, h.seq), hash[:])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Reopen(); err != nil {
		t.Fatal(err)
	}
	done, err := r.Messages("mails", Done, 0, 10)
	if err != nil || len(done) != 2 || len(done[1].Runs) != 1 || done[1].ID != "old1" {
		t.Fatalf("got %+v, %v", done, err)
	}
	if _, err := q.Post(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Worker().Tick(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := r.Message("mails", "old0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest of three, of which two are kept: %v", err)
	}
	if m, err := r.Message("mails", "old1"); err != nil || m.State != Done {
		t.Errorf("the second: %v, %v", m.State, err)
	}
}

// reusedSlices is a storage whose Scan overwrites the slices of each call after it.
type reusedSlices struct{ Storage }

type reusedBackend struct{ Backend }

type reusedView struct{ View }

func (s reusedSlices) Open(onFail func(error)) (Backend, error) {
	b, err := s.Storage.Open(onFail)
	return reusedBackend{b}, err
}

func (b reusedBackend) View() View { return reusedView{b.Backend.View()} }

func (v reusedView) Scan(lo, hi []byte, visit func(key, value []byte) bool) error {
	return v.View.Scan(lo, hi, func(key, value []byte) bool {
		key, value = slices.Clone(key), slices.Clone(value)
		more := visit(key, value)
		clear(key)
		clear(value)
		return more
	})
}

// TestResultsInList: the results in a list of finished messages stay as they are.
func TestResultsInList(t *testing.T) {
	r, err := Open(reusedSlices{NewTestStorage()}, Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q, err := Handle(r, "mails", func(_ context.Context, j *Job[string]) error {
		return j.SetResult(j.Args)
	}, WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"a", "b"} {
		if _, err := q.Post(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := q.Worker().Tick(t.Context()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	done, err := r.Messages("mails", Done, 0, 10)
	if err != nil || len(done) != 2 || string(done[0].Result) != `"a"` || string(done[1].Result) != `"b"` {
		t.Errorf("got %+v, %v", done, err)
	}
}
