package loop

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/store"
)

// owners is a store that records one owner.
type owners struct {
	Store
	mu  sync.Mutex
	now store.Owned
}

func (s *owners) Own(_ context.Context, _ string, o store.Owner, over int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.By.Same(o) && s.now.Beat != over {
		now := s.now
		return &now
	}
	s.now = store.Owned{By: o, Beat: s.now.Beat + 1}
	return nil
}

// TestOwnSilence: the profile of an owner with a heartbeat stays its own; that of a silent
// one is taken, after silence and not before.
func TestOwnSilence(t *testing.T) {
	me, other := store.Owner{Host: "here", PID: 1}, store.Owner{Host: "there", PID: 2}
	for _, c := range []struct {
		name  string
		lives bool
	}{{"it is silent", false}, {"it lives", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &owners{now: store.Owned{By: other, Beat: 7}}
				rt := New(Options{Name: "p", Database: Database{Store: db}, Journal: Journal{Owner: me},
					Log: slog.New(slog.DiscardHandler)})
				began := time.Now()
				if c.lives {
					time.AfterFunc(heartbeatEvery, func() {
						db.mu.Lock()
						defer db.mu.Unlock()
						db.now.Beat++
					})
				}
				err := rt.acquireOwnership(t.Context())
				took := time.Since(began)
				var owned *store.Owned
				switch {
				case c.lives && (!errors.As(err, &owned) || !owned.By.Same(other) || took > 2*heartbeatEvery):
					t.Errorf("got %v after %v, want a refusal as soon as it writes a beat", err, took)
				case !c.lives && (err != nil || !db.now.By.Same(me) || took < ownerTimeout ||
					took > ownerTimeout+2*heartbeatEvery):
					t.Errorf("got %v after %v, want the profile after %v", err, took, ownerTimeout)
				}
			})
		})
	}
}

// TestOwnAfterClockSetBack: an earlier process on the same journal that has ended is not
// waited for, whatever the clock says.
func TestOwnAfterClockSetBack(t *testing.T) {
	journal := store.JournalID{1}
	me := store.Owner{Journal: journal, Host: "here", PID: os.Getpid(), Since: time.Unix(1000, 0)}
	later := time.Unix(2000, 0)
	const nobody = 1 << 30 // more than Linux numbers
	for _, c := range []struct {
		name  string
		owner store.Owner
		waits bool
	}{
		{"it is there no more", store.Owner{Journal: journal, Host: "here", PID: nobody, Since: later}, false},
		{"an image before this one", store.Owner{Journal: journal, Host: "here", PID: os.Getpid(), Since: later}, false},
		{"it is there", store.Owner{Journal: journal, Host: "here", PID: os.Getppid(), Since: later}, true},
		{"of another machine", store.Owner{Journal: journal, Host: "there", PID: nobody, Since: later}, true},
		{"of another journal", store.Owner{Journal: store.JournalID{2}, Host: "here", PID: nobody, Since: later}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &owners{now: store.Owned{By: c.owner, Beat: 7}}
				rt := New(Options{Name: "p", Database: Database{Store: db}, Journal: Journal{Owner: me},
					Log: slog.New(slog.DiscardHandler)})
				began := time.Now()
				err := rt.acquireOwnership(t.Context())
				if took := time.Since(began); err != nil || !db.now.By.Same(me) || (took > 0) != c.waits {
					t.Errorf("got %v after %v, want to wait: %v", err, took, c.waits)
				}
			})
		})
	}
}
