package server

import (
	"errors"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// addOld puts a session into the journal of a server that was last seen days ago.
func (h *here) addOld(id wamble.SessionID, days int) wamble.Token {
	h.t.Helper()
	token, r := wamble.Token{9, byte(id)}, h.partitionOf(0).runner
	worker, err := journal.WorkerOf(h.t.Context(), r, store.ShardName(h.first().name, 0))
	if err == nil {
		_, err = journal.Post(h.t.Context(), r, worker,
			&intent.CreateSession{Session: id, Token: token.Hash(), At: time.Now().AddDate(0, 0, -days)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	until(h.t, "the session is stored", func() bool { return h.hasSession(token) })
	return token
}

// hasSession reports whether the store has a session.
func (h *here) hasSession(token wamble.Token) bool {
	_, err := h.first().store.Session(h.t.Context(), token)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		h.t.Error(err)
	}
	return err == nil
}

// janitorTimer waits until servers that share a journal have one timer, that of the janitor,
// and returns it and the server that has it.
func janitorTimer(t testing.TB, servers ...*here) (owner *here, timer runner.ArmedTimer) {
	t.Helper()
	until(t, "there is one timer", func() bool {
		n := 0
		for _, h := range servers {
			for _, p := range h.partitions() {
				list, _ := p.runner.Timers(runner.TimerID{}, 10)
				if n += len(list); len(list) > 0 {
					owner, timer = h, list[0]
				}
			}
		}
		return n == 1
	})
	return owner, timer
}

// fire lets a timer of a server fire now.
func (h *here) fire(timer runner.ArmedTimer) {
	h.t.Helper()
	r := h.partitionOf(0).runner
	m, err := runner.DecodeMessage(timer.Frame)
	if err = errors.Join(err, r.Cancel(h.t.Context(), timer.ID)); err == nil {
		_, err = r.Arm(h.t.Context(), time.Now(), &m)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// oldSessionsAreDeleted: when the timer of the janitor fires, old anonymous sessions go, and
// it is armed for the next day; a restart neither loses nor doubles it.
func oldSessionsAreDeleted(d *deployment) {
	_, first := janitorTimer(d, d.servers...)
	d.restart()
	owner, timer := janitorTimer(d, d.servers...)
	if timer.ID != first.ID {
		d.Errorf("after a restart the timer is %v, want %v", timer.ID, first.ID)
	}
	gone, stays := owner.addOld(900001, 31), owner.addOld(900002, 29)
	owner.fire(timer)
	until(d, "the old session is gone", func() bool { return !owner.hasSession(gone) })
	if !owner.hasSession(stays) {
		d.Error("a session that is not old enough is gone")
	}
	until(d, "the timer is armed for tomorrow", func() bool {
		_, next := janitorTimer(d, d.servers...)
		return next.ID.Due().After(time.Now().Add(23 * time.Hour))
	})
}

// TestRetentionClock: the timer of the janitor goes by the clock of the journal, which
// no setting of the wall clock moves; one that is due years from now, because the wall
// clock was set back over a restart, is armed anew.
func TestRetentionClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) // far from the wall clock
	r, err := runner.Open(memstore.New(), runner.Options{
		Schema: JournalSchema, Create: true, MinFree: -1, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	due := func() time.Time {
		t.Helper()
		timers, err := r.Timers(runner.TimerID{}, 10)
		if err != nil || len(timers) != 1 {
			t.Fatalf("got %d timers, %v; want one", len(timers), err)
		}
		return timers[0].ID.Due().UTC()
	}
	start := func() {
		t.Helper()
		stop, err := new(Server).startJanitor(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		stop()
	}
	start()
	if got, want := due(), now.Add(janitorFirst); !got.Equal(want) {
		t.Errorf("the first timer is due %v, want %v", got, want)
	}
	now = now.Add(-time.Hour)
	start()
	if got, want := due(), now.Add(time.Hour+janitorFirst); !got.Equal(want) {
		t.Errorf("an hour back: it is due %v, want %v", got, want)
	}
	now = now.AddDate(-1, 0, 0)
	start()
	if got, want := due(), now.Add(janitorFirst); !got.Equal(want) {
		t.Errorf("a year back: it is due %v, want %v", got, want)
	}
}

// TestRetentionPutOff: a profile that does not serve players when the timer fires deletes
// old sessions an hour later, not a day.
func TestRetentionPutOff(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf("(def retention-days 30)")).ready()
	_, timer := janitorTimer(t, h)
	h.first().shards[0].stop()
	h.fire(timer)
	until(t, "the timer is armed again", func() bool {
		_, timer = janitorTimer(t, h)
		return timer.ID.Due().After(time.Now().Add(time.Minute))
	})
	if next := time.Until(timer.ID.Due()); next > janitorFirst {
		t.Errorf("the next timer is due in %v, want an hour", next)
	}
	h.first().shards[0].start()
}
