package runner_test

import (
	"errors"
	"strings"
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

// TestShrinksWhenIdle: a storage is asked to shrink once after its last commit, and
// not while there are commits.
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

// TestSpaceComesBack: a runner without space says so with figures, asks its storage to
// shrink, and is Running again as soon as there is room, though nobody commits.
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
		if !errors.Is(err, runner.ErrNoSpace) || !strings.Contains(err.Error(), "10 MB are left for") || !strings.Contains(err.Error(), "64 MB") {
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
