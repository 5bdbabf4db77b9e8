package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWhoLeavesChangesNothing: a request whose context ends before the committer reaches it
// changes nothing later, and one that was reached is finished before its caller goes on, so
// that its result is not written afterwards.
func TestWhoLeavesChangesNothing(t *testing.T) {
	r, err := Open(NewTestStorage(), Options{Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := r.engine()
	held, release := make(chan struct{}), make(chan struct{})
	busy := make(chan error, 1)
	go func() {
		busy <- e.do(t.Context(), func(*commit) error { close(held); <-release; return nil })
	}()
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	if err := e.do(ctx, func(*commit) error { ran = true; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("it left with %v", err)
	}
	close(release)
	if err := <-busy; err != nil {
		t.Fatal(err)
	}
	if err := e.do(t.Context(), func(*commit) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if ran {
		t.Error("a request was carried out after its caller had left")
	}

	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		found := 0
		err := e.do(ctx, func(*commit) error { found++; return nil })
		if found == 0 && err == nil || found > 1 {
			t.Fatalf("it ran %d times and said %v", found, err)
		}
	}
}

// TestResultsOfWhoLeaves: the result of a request beside the error of an ended context is not
// written afterwards, and true: it was done as reported, or not at all.
func TestResultsOfWhoLeaves(t *testing.T) {
	r := openForTest(t)
	e := r.engine()
	for range 200 {
		row, err := r.Post(t.Context(), &Message{To: 7, ID: []byte("a"), Payload: make([]byte, 10)})
		if err != nil {
			t.Fatal(err)
		}
		// Each request is cancelled while the committer reaches it.
		leave := func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			return ctx
		}
		if err := r.claim(leave(), row, maxTime); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		id, err := r.Arm(leave(), time.UnixMilli(50), &Message{To: 7, ID: []byte("t")})
		if err == nil && id.Seq == 0 {
			t.Fatal("a timer without a number")
		}
		if n, err := e.fireDue(leave(), 100); n > 256 || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("fired %d, %v", n, err)
		}
		if err := r.Cancel(leave(), id); err != nil && !errors.Is(err, context.Canceled) &&
			!errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
}

// sizedStorage records the size of each commit, which waits for its turn.
type sizedStorage struct {
	Storage
	turn  chan struct{}
	sizes []int
}

type sizedBackend struct {
	Backend
	s *sizedStorage
}

type sizedBatch struct {
	Batch
	s *sizedStorage
}

func (s *sizedStorage) Open(onFail func(error)) (Backend, error) {
	b, err := s.Storage.Open(onFail)
	return sizedBackend{b, s}, err
}

func (b sizedBackend) Batch() Batch { return sizedBatch{b.Backend.Batch(), b.s} }

func (b sizedBatch) Commit() error {
	b.s.sizes = append(b.s.sizes, b.Len())
	<-b.s.turn
	return b.Batch.Commit()
}

// TestPostsPassSettlements: a post is in the next commit, however much the workers of another
// queue have to settle, and that commit is not large.
func TestPostsPassSettlements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lanes, size = 40, 64 << 10
		s := &sizedStorage{Storage: NewTestStorage(), turn: make(chan struct{}, 1000)}
		for range 500 {
			s.turn <- struct{}{}
		}
		r, err := Open(s, Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		begin := make(chan struct{})
		w, err := r.NewWorker(7, WorkerOptions{Concurrency: lanes, MaxBatch: 1,
			Handler: func(_ context.Context, tx *Tx, d *Delivery) error {
				<-begin
				return tx.Put(d.ID, make([]byte, size))
			}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range lanes {
			if _, err := r.Post(t.Context(), &Message{To: 7, ID: []byte{byte(i)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for len(s.turn) > 0 {
			<-s.turn
		}
		s.sizes = nil
		close(begin)
		synctest.Wait() // one commit is under way, and the other settlements wait
		posted := make(chan error, 1)
		go func() {
			_, err := r.Post(t.Context(), &Message{To: 8})
			posted <- err
		}()
		synctest.Wait()
		s.turn <- struct{}{}
		synctest.Wait()
		s.turn <- struct{}{}
		synctest.Wait()
		select {
		case err := <-posted:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the post waits for more than two commits")
		}
		if size := s.sizes[1]; size > 2*maxSettle {
			t.Errorf("the commit of the post has %d bytes, want at most %d", size, 2*maxSettle)
		}
		close(s.turn)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if n := w.Metrics().Successes; n != lanes {
			t.Errorf("%d messages are done, want %d", n, lanes)
		}
	})
}

// TestWaitingBytes: MaxQueued bounds what waits, over any number of commits.
func TestWaitingBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, most = 512 << 10, 2 * maxCommit
		s := &sizedStorage{Storage: NewTestStorage(), turn: make(chan struct{}, 1000)}
		for range 500 {
			s.turn <- struct{}{}
		}
		r, err := Open(s, Options{Create: true, MinFree: -1, MaxQueued: most})
		if err != nil {
			t.Fatal(err)
		}
		for len(s.turn) > 0 {
			<-s.turn
		}
		var waiting atomic.Int64
		payload := make([]byte, size)
		for range 12 {
			for busy := new(atomic.Bool); !busy.Load(); synctest.Wait() {
				waiting.Add(1)
				go func() {
					defer waiting.Add(-1)
					_, err := r.Post(t.Context(), &Message{To: 7, Payload: payload})
					if errors.Is(err, ErrBusy) {
						busy.Store(true)
					} else if err != nil {
						t.Error(err)
					}
				}()
			}
			s.turn <- struct{}{}
			synctest.Wait()
		}
		// At most MaxQueued bytes were taken from the queue, and as many are in it.
		if n := waiting.Load() * size; n > 2*most+maxCommit {
			t.Errorf("%d bytes wait, MaxQueued is %d", n, most)
		}
		close(s.turn)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
