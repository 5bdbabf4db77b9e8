package runner_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

// failing is a storage that fails when fail is called, at any moment, and works when it is
// opened again.
type failing struct {
	*runnertest.Faulty
	fail func(error)
}

func (s *failing) Open(onFail func(error)) (runner.Backend, error) {
	if s.fail != nil {
		return s.Storage.Open(onFail)
	}
	s.fail = onFail
	return s.Faulty.Open(onFail)
}

// TestSyncFailsUnderClose: Close and Reopen that wait for a commit under way go on
// when the storage fails, though the commit never returns.
func TestSyncFailsUnderClose(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, c := range []struct {
		name  string
		leave func(*runner.Runner) error
		want  error
	}{{"close", (*runner.Runner).Close, broken}, {"reopen", (*runner.Runner).Reopen, nil}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &failing{Faulty: runnertest.NewFaulty(memstore.New())}
				r, err := runner.Open(s, runner.Options{Create: true, MinFree: -1})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				held, release := s.Hang()
				posted, left := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := r.Post(t.Context(), &runner.Message{To: 7, ID: []byte("m")})
					posted <- err
				}()
				<-held
				go func() { left <- c.leave(r) }()
				synctest.Wait()
				s.fail(broken)
				synctest.Wait()
				select {
				case err := <-posted:
					if !errors.Is(err, runner.ErrFailed) {
						t.Errorf("the post says %v, want ErrFailed", err)
					}
				default:
					t.Error("the post has no answer")
				}
				select {
				case err := <-left:
					if !errors.Is(err, c.want) {
						t.Errorf("got %v, want %v", err, c.want)
					}
				default:
					t.Error("it waits for a commit that never returns")
				}
				release()
			})
		})
	}
}
