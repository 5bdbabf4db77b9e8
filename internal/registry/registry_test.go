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

// member is a profile whose journal takes a while to reach the store.
type member struct {
	settles  func(of Subject) (bool, error)
	received []profile.StoreEvent
}

func (m *member) AwaitApplied(_ context.Context, of Subject) (bool, error) {
	if m.settles == nil {
		return false, nil
	}
	return m.settles(of)
}

func (m *member) Flush(context.Context) error { return nil }

func (m *member) Notify(events *profile.StoreEvents) {
	m.received = append(m.received, events.Changes...)
}

func newPair() (r *Registry, red, blue *member) {
	r, red, blue = New(), &member{}, &member{}
	r.Join(red)
	r.Join(blue)
	return r, red, blue
}

// TestReadAgain: a read that is overtaken by events about what it has found is made
// again, and events about others changes nothing.
func TestReadAgain(t *testing.T) {
	token, key := wamble.Token{1}, wamble.PublicKey{2}
	for name, tc := range map[string]struct {
		change profile.StoreEvent
		asked  int
	}{
		"its session":          {profile.StoreEvent{What: profile.Stale, Session: 3}, 2},
		"its identity":         {profile.StoreEvent{What: profile.Stale, Key: key}, 2},
		"its key is another's": {profile.StoreEvent{What: profile.Stale, Key: wamble.PublicKey{9}, Merged: key}, 2},
		"of an older release":  {profile.StoreEvent{What: 0, Session: 3}, 2},
		"what it has won":      {profile.StoreEvent{What: profile.Won, Session: 3}, 1},
		"others":               {profile.StoreEvent{What: profile.Stale, Session: 4, Key: wamble.PublicKey{9}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, red, blue := newPair()
			asked, delivered := 0, 0
			err := r.Read(t.Context(), blue, Subject{Token: token}, func() Found {
				if asked++; asked == 1 {
					r.Publish(red, []profile.StoreEvent{tc.change})
				}
				return Found{Session: 3, Key: key}
			}, func(bool) { delivered++ })
			if err != nil || asked != tc.asked || delivered != 1 || len(blue.received) != 1 || len(red.received) != 0 {
				t.Errorf("got %v, asked %d times, delivered %d; want %d and 1; received %v and %v", err, asked,
					delivered, tc.asked, blue.received, red.received)
			}
			if len(r.reads) != 0 {
				t.Error("the read is still under way")
			}
		})
	}
}

// TestReadOfIdentity: another profile may have changed the identity of the session that was
// found; its journal is applied first.
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

// TestReadBesideDown: a profile that does not run does not prevent reads, but the reader is
// told. One that does not settle in time is an error.
func TestReadBesideDown(t *testing.T) {
	r, red, blue := newPair()
	red.settles = func(Subject) (bool, error) { return false, ErrDown }
	known := false
	if err := r.Read(t.Context(), blue, Subject{}, func() Found { return Found{} },
		func(down bool) { known = down }); err != nil || !known {
		t.Errorf("got %v, known %v", err, known)
	}
	red.settles = func(Subject) (bool, error) { return true, context.DeadlineExceeded }
	err := r.Read(t.Context(), blue, Subject{}, func() Found { return Found{} },
		func(bool) { t.Error("it was delivered") })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	r.Leave(red)
	if others := r.Others(blue); len(others) != 0 {
		t.Errorf("got %v after it has left", others)
	}
}

// TestReserve: of concurrent callers one at a time has a key, and one that gives up has none.
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

// TestReadTooEarly: a read is made again until the store has the earlier events of other machines that
// concern it.
func TestReadTooEarly(t *testing.T) {
	key, at := wamble.PublicKey{2}, profile.Cursors{{Journal: 1, Message: 10}}
	change := func(message uint64, more profile.StoreEvent) profile.StoreEvent {
		more.Stamp = profile.Stamp{Journal: 1, Message: message}
		return more
	}
	for name, tc := range map[string]struct {
		change  profile.StoreEvent
		cursors profile.Cursors
		here    bool // sent by a profile of this process
		after   time.Duration
		again   int
	}{
		"of the key":     {change(11, profile.StoreEvent{Key: key}), at, false, time.Second, 1},
		"of the session": {change(11, profile.StoreEvent{Session: 3}), at, false, time.Second, 1},
		"in the store":   {change(10, profile.StoreEvent{Key: key}), at, false, time.Second, 0},
		"of others": {change(11, profile.StoreEvent{Key: wamble.PublicKey{9}}), at, false, time.Second,
			0},
		"long ago":                   {change(11, profile.StoreEvent{Key: key}), at, false, 2 * time.Minute, 0},
		"nobody knows the message":   {profile.StoreEvent{Key: key}, at, false, time.Second, 0},
		"nobody knows the state":     {change(11, profile.StoreEvent{Key: key}), nil, false, time.Second, 0},
		"of a profile that is asked": {change(11, profile.StoreEvent{Key: key}), at, true, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, red, blue := newPair()
				others := &member{}
				r.JoinPeers(others)
				from := others
				if tc.here {
					from = red
				}
				r.Publish(from, []profile.StoreEvent{tc.change})
				time.Sleep(tc.after)
				asked := 0
				err := r.Read(t.Context(), blue, Subject{Token: wamble.Token{1}}, func() Found {
					if asked++; asked > 1 {
						return Found{Session: 3, Key: key, Cursors: profile.Cursors{{Journal: 1, Message: 11}}}
					}
					return Found{Session: 3, Key: key, Cursors: tc.cursors}
				}, func(bool) {})
				if err != nil || asked != 1+tc.again {
					t.Errorf("got %v, asked %d times, want %d", err, asked, 1+tc.again)
				}
			})
		})
	}
	r := New()
	r.JoinPeers(&member{})
	for range 3 {
		r.Publish(r.peers, make([]profile.StoreEvent, maxRemoteEvents))
		changes := make([]profile.StoreEvent, maxRemoteEvents/2+1)
		for i := range changes {
			changes[i].Stamp.Journal = 1
		}
		r.Publish(r.peers, changes)
	}
	if len(r.remote) != maxRemoteEvents {
		t.Errorf("%d changes are kept, want %d", len(r.remote), maxRemoteEvents)
	}
}
