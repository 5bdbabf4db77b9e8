package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// member is a profile whose journal takes a while.
type member struct {
	settles func(of Subject) (bool, error)
	heard   []profile.Change
}

func (m *member) Settle(_ context.Context, of Subject) (bool, error) {
	if m.settles == nil {
		return false, nil
	}
	return m.settles(of)
}

func (m *member) Hear(news *profile.News) { m.heard = append(m.heard, news.Changes...) }

func newPair() (r *Registry, red, blue *member) {
	r, red, blue = New(), &member{}, &member{}
	r.Join(red)
	r.Join(blue)
	return r, red, blue
}

// TestReadAgain: a read that is overtaken by news about what it has found is made
// again, and news about others changes nothing.
func TestReadAgain(t *testing.T) {
	token, key := wamble.Token{1}, wamble.PublicKey{2}
	for name, tc := range map[string]struct {
		change profile.Change
		asked  int
	}{
		"its token":    {profile.Change{Token: token}, 2},
		"its session":  {profile.Change{What: profile.Credited, Session: 3}, 2},
		"its identity": {profile.Change{What: profile.Erased, Key: key}, 2},
		"a new token":  {profile.Change{Link: &profile.Linked{Token: token}}, 2},
		"others":       {profile.Change{Session: 4, Token: wamble.Token{9}, Key: wamble.PublicKey{9}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, red, blue := newPair()
			asked, delivered := 0, 0
			err := r.Read(t.Context(), blue, Subject{Token: token}, func() Found {
				if asked++; asked == 1 {
					r.Tell(red, []profile.Change{tc.change})
				}
				return Found{Session: 3, Key: key}
			}, func(bool) { delivered++ })
			if err != nil || asked != tc.asked || delivered != 1 || len(blue.heard) != 1 || len(red.heard) != 0 {
				t.Errorf("got %v, asked %d times, delivered %d; want %d and 1; heard %v and %v", err, asked, delivered, tc.asked, blue.heard, red.heard)
			}
			if len(r.reads) != 0 {
				t.Error("the read is still under way")
			}
		})
	}
}

// TestReadOfIdentity: the identity of a session that was found may be known to
// another profile, whose journal goes first.
func TestReadOfIdentity(t *testing.T) {
	r, red, blue := newPair()
	stored, asked := 1200, []int{}
	red.settles = func(of Subject) (bool, error) {
		if of.Key.IsZero() {
			return false, nil
		}
		stored = 1210
		return true, nil
	}
	err := r.Read(t.Context(), blue, Subject{Token: wamble.Token{1}}, func() Found {
		asked = append(asked, stored)
		return Found{Session: 1, Key: wamble.PublicKey{2}}
	}, func(bool) {})
	if err != nil || len(asked) != 2 || asked[1] != 1210 {
		t.Errorf("got %v, read %v", err, asked)
	}
}

// TestReadBesideDown: a profile that does not run keeps nobody from reading, but the
// reader knows. One that does not settle in time is an error.
func TestReadBesideDown(t *testing.T) {
	r, red, blue := newPair()
	red.settles = func(Subject) (bool, error) { return false, ErrDown }
	known := false
	if err := r.Read(t.Context(), blue, Subject{}, func() Found { return Found{} }, func(down bool) { known = down }); err != nil || !known {
		t.Errorf("got %v, known %v", err, known)
	}
	red.settles = func(Subject) (bool, error) { return true, context.DeadlineExceeded }
	err := r.Read(t.Context(), blue, Subject{}, func() Found { return Found{} }, func(bool) { t.Error("it was delivered") })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	r.Leave(red)
	if others := r.Others(blue); len(others) != 0 {
		t.Errorf("got %v after it has left", others)
	}
}

// TestReserve: of those who want a key at once one has it at a time, and who gives up
// has none.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, key := New(), wamble.PublicKey{1}
		release, err := r.Reserve(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := r.Reserve(t.Context(), wamble.PublicKey{2}); err != nil {
			t.Fatal("another key is reserved too")
		} else {
			other()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Reserve(short, key); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v while it is reserved", err)
		}
		got := make(chan func())
		go func() {
			again, err := r.Reserve(t.Context(), key)
			if err != nil {
				t.Error(err)
			}
			got <- again
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("two have it")
		default:
		}
		release()
		(<-got)()
		if len(r.keys) != 0 {
			t.Error("it is still reserved")
		}
	})
}

// TestAwaitOthers: a start waits for a profile that brings its journal to the store,
// and not for ever.
func TestAwaitOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, red, blue := newPair()
		up := time.Now().Add(time.Second)
		red.settles = func(of Subject) (bool, error) {
			if !of.All {
				t.Errorf("asked for %+v", of)
			}
			if time.Now().Before(up) {
				return false, ErrDown
			}
			return true, nil
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if err := r.AwaitOthers(short, blue); !errors.Is(err, ErrDown) {
			t.Errorf("got %v, want it to be down", err)
		}
		if err := r.AwaitOthers(t.Context(), blue); err != nil || time.Now().Before(up) {
			t.Errorf("got %v after %v", err, time.Until(up))
		}
	})
}
