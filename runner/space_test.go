package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// shrinker is a storage that counts how often it is asked to shrink.
type shrinker struct {
	*runnertest.Faulty
	asked atomic.Int64
	then  func()
}

func (s *shrinker) Open(onFail func(error)) (runner.Backend, error) {
	b, err := s.Faulty.Open(onFail)
	return &shrinkBackend{b, s}, err
}

type shrinkBackend struct {
	runner.Backend
	s *shrinker
}

func (b *shrinkBackend) Shrink() error {
	b.s.asked.Add(1)
	if b.s.then != nil {
		b.s.then()
	}
	return nil
}

// TestShrinksWhenIdle: a storage is asked to shrink once after its last commit, and not
// during commits.
func TestShrinksWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shrinker{Faulty: runnertest.NewFaulty(memstore.New())}
		r, err := runner.Open(s, runner.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for range 30 {
			if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := s.asked.Load(); n != 0 {
			t.Errorf("asked %d times between commits", n)
		}
		time.Sleep(time.Hour)
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked %d times in an hour without commits, want once", n)
		}
	})
}

// TestSpaceComesBack: a runner without space reports that with figures, asks its storage to
// shrink, and is Running again as soon as space is free, without a commit.
func TestSpaceComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shrinker{Faulty: runnertest.NewFaulty(memstore.New())}
		r, err := runner.Open(s, runner.Options{Create: true, MinFree: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s.SetFree(10 << 20)
		time.Sleep(time.Second)
		_, err = r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")})
		if !errors.Is(err, runner.ErrNoSpace) || !strings.Contains(err.Error(), "10 MB are left for") ||
			!strings.Contains(err.Error(), "64 MB") {
			t.Errorf("got %v, want ErrNoSpace with figures", err)
		}
		time.Sleep(10 * time.Second)
		if n := s.asked.Load(); n < 8 || n > 15 {
			t.Errorf("asked to shrink %d times in 10 s", n)
		}
		if r.State() != runner.ReadOnly {
			t.Errorf("state %v without room", r.State())
		}
		s.SetFree(200 << 20)
		time.Sleep(2 * time.Second)
		if r.State() != runner.Running {
			t.Errorf("state %v with room", r.State())
		}
	})
}

// TestHandlersWithoutSpace: while space is short a handler that removes a message goes on;
// one that writes more than its message waits, spends no budget, and is done when space is
// free.
func TestHandlersWithoutSpace(t *testing.T) {
	for _, kind := range []string{"plain", "ordered", "ordered side by side", "batch"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := runnertest.NewFaulty(memstore.New())
				r, err := runner.Open(s, runner.Options{Create: true, MinFree: 64 << 20,
					Policy: runner.Policy{RetryBudget: 2}})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				for _, id := range []string{"small", "large"} {
					if _, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte(id)}); err != nil {
						t.Fatal(err)
					}
				}
				var mu sync.Mutex
				runs := map[string]int{}
				handle := func(tx *runner.Tx, d *runner.Delivery) error {
					mu.Lock()
					runs[string(d.ID)]++
					mu.Unlock()
					if string(d.ID) == "small" {
						return tx.Put([]byte("cursor"), []byte("1"))
					}
					return tx.Send(&runner.Message{To: 8, Payload: make([]byte, 16<<10)})
				}
				o := runner.WorkerOptions{Ordered: strings.HasPrefix(kind, "ordered")}
				if kind == "ordered side by side" {
					o.Concurrency = 2
				}
				if kind == "batch" {
					o.Batch = func(_ context.Context, b *runner.Batched) error {
						for i := range b.Deliveries {
							if err := handle(b.Tx, &b.Deliveries[i]); err != nil {
								return err
							}
						}
						return nil
					}
					o.MaxBatch = 1
				} else {
					o.Handler = func(_ context.Context, tx *runner.Tx,
						d *runner.Delivery) error {
						return handle(tx, d)
					}
				}
				s.SetFree(10 << 20)
				time.Sleep(time.Second)
				r.Post(t.Context(), &runner.Message{To: 9, ID: []byte("refused")}) // it looks
				w := start(t, r, 1, o)[0]
				time.Sleep(20 * time.Second)
				synctest.Wait()
				if runs["small"] != 1 || runs["large"] < 5 || runs["large"] > 30 {
					t.Errorf("without room: runs %v, want small once and large about once a second", runs)
				}
				if m := w.Metrics(); m.Successes != 1 || m.DeadLetters != 0 {
					t.Errorf("without room: %+v, want one success and no dead letter", m)
				}
				s.SetFree(200 << 20)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				depths := map[uint64]uint64{}
				for _, in := range r.Stats().Inboxes {
					depths[in.Worker] = in.Depth
				}
				if m := w.Metrics(); m.Successes != 2 || m.DeadLetters != 0 || depths[7] != 0 || depths[8] != 1 {
					t.Errorf("with room: %+v, inboxes %v, want two successes and one message for 8", m, depths)
				}
			})
		})
	}
}

// TestStartOnAFullDisk: what changes nothing needs no space: a program that declares the same
// schedules at every start, and posts what waits already, starts on a full disk.
func TestStartOnAFullDisk(t *testing.T) {
	s := runnertest.NewFaulty(memstore.New())
	for _, full := range []bool{false, true} {
		if full {
			s.SetFree(1)
		}
		r, err := runner.Open(s, runner.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		q, err := runner.NewQueue[int](r, "q")
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Every(t.Context(), "report", "0 8 * * *", 1); err != nil {
			t.Errorf("full %t: the same schedule: %v", full, err)
		}
		want, exists := error(nil), error(nil)
		if full {
			want, exists = runner.ErrNoSpace, runner.ErrExists
		}
		for _, opts := range [][]runner.PostOption{{runner.Unique("now")}, {runner.Unique("later"), runner.After(time.Hour)}} {
			if _, err := q.Post(t.Context(), 1, opts...); !errors.Is(err, exists) {
				t.Errorf("full %t: a job that waits: got %v, want %v", full, err, exists)
			}
		}
		if _, err := q.Post(t.Context(), 1); !errors.Is(err, want) {
			t.Errorf("full %t: a new job: got %v, want %v", full, err, want)
		}
		if full {
			if err := q.Every(t.Context(), "report", "0 9 * * *", 1); !errors.Is(err, want) {
				t.Errorf("another schedule: got %v, want %v", err, want)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
