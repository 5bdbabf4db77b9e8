package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"wamble"
	"wamble/internal/host"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// old puts a session into a server's journal that was last seen long ago.
func (h *here) old(id wamble.SessionID, seen time.Time) wamble.Token {
	h.t.Helper()
	token := wamble.Token{9, byte(id)}
	sup := h.first()
	worker, err := journal.WorkerOf(context.Background(), h.runner, sup.name)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := journal.Post(context.Background(), h.runner, worker, &intent.CreateSession{Session: id, Token: token.Hash(), At: seen}); err != nil {
		h.t.Fatal(err)
	}
	until(h.t, "the session is stored", func() bool {
		_, err := sup.store.Session(context.Background(), token)
		return err == nil
	})
	return token
}

// janitorTimer returns the one timer of the janitor.
func (h *here) janitorTimer() runner.ArmedTimer {
	h.t.Helper()
	timers, err := h.runner.Timers(runner.TimerID{}, 100)
	if err != nil || len(timers) != 1 {
		h.t.Fatalf("got %d timers, %v; want that of the janitor", len(timers), err)
	}
	return timers[0]
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

// TestRetention: when the timer of the janitor fires, old anonymous sessions go,
// and it is armed for the next day; a restart neither loses nor doubles it.
func TestRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := conf("(def retention-days 30)")
	h := serve(t, Options{Dir: dir}, text).ready()
	until(t, "the timer is armed", func() bool { timers, _ := h.runner.Timers(runner.TimerID{}, 10); return len(timers) > 0 })
	first := h.janitorTimer()
	h.end()

	h = serve(t, Options{Dir: dir}, text).ready()
	if got := h.janitorTimer(); got.ID != first.ID {
		t.Errorf("after a restart the timer is %v, want %v", got.ID, first.ID)
	}
	gone := h.old(900001, time.Now().AddDate(0, 0, -31))
	stays := h.old(900002, time.Now().AddDate(0, 0, -29))
	if err := h.runner.Cancel(context.Background(), first.ID); err != nil {
		t.Fatal(err)
	}
	m, err := runner.DecodeMessage(first.Frame)
	if err == nil {
		_, err = h.runner.Arm(context.Background(), time.Now(), &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	db := h.profiles()[0].store
	until(t, "the old session is gone", func() bool {
		_, err := db.Session(context.Background(), gone)
		return errors.Is(err, store.ErrNotFound)
	})
	if _, err := db.Session(context.Background(), stays); err != nil {
		t.Errorf("a session that is not old enough: %v", err)
	}
	until(t, "the timer is armed again", func() bool { timers, _ := h.runner.Timers(runner.TimerID{}, 10); return len(timers) == 1 })
	if next := h.janitorTimer(); next.ID.Due().Before(time.Now().Add(23 * time.Hour)) {
		t.Errorf("the next timer is due %v", next.ID.Due())
	}
}

// TestRetentionPutOff: a profile that does not serve players when the timer fires deletes
// old sessions an hour later, not a day.
func TestRetentionPutOff(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf("(def retention-days 30)")).ready()
	until(t, "the timer is armed", func() bool { timers, _ := h.runner.Timers(runner.TimerID{}, 10); return len(timers) > 0 })
	timer := h.janitorTimer()
	h.first().shards[0].stop()
	m, err := runner.DecodeMessage(timer.Frame)
	if err = errors.Join(err, h.runner.Cancel(t.Context(), timer.ID)); err == nil {
		_, err = h.runner.Arm(t.Context(), time.Now(), &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the timer is armed again", func() bool {
		timers, _ := h.runner.Timers(runner.TimerID{}, 10)
		return len(timers) == 1 && timers[0].ID.Due().After(time.Now().Add(time.Minute))
	})
	if next := time.Until(h.janitorTimer().ID.Due()); next > janitorFirst {
		t.Errorf("the next timer is due in %v, want an hour", next)
	}
	h.first().shards[0].start()
}

// TestErase: a player with an identity can have their data deleted, and what they did a
// moment before does not come back.
func TestErase(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, conf("")).ready()
	p := join(t, h.address(), wamble.Token{})
	_, private, _ := ed25519.GenerateKey(nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := p.c.Login(ctx, private); err != nil {
		t.Fatal(err)
	}
	key := wamble.PublicKey(private.Public().(ed25519.PublicKey))
	db := h.profiles()[0].store
	until(t, "the identity is stored", func() bool { _, err := db.Player(ctx, key); return err == nil })
	if err := host.Ask(ctx, h.dir, "erase", host.Arguments{Whom: "nobody"}, new(host.Counts)); err == nil {
		t.Error("nobody was erased")
	}
	if done := h.command("erase", host.Arguments{Whom: hex.EncodeToString(key[:])}); done[h.profiles()[0].name] != 1 {
		t.Fatalf("got %v; want one identity", done)
	}
	until(t, "the identity is deleted", func() bool {
		_, err := db.Player(ctx, key)
		return errors.Is(err, store.ErrNotFound)
	})
	if done := h.command("erase", host.Arguments{Whom: hex.EncodeToString(key[:])}); done[h.profiles()[0].name] != 0 {
		t.Errorf("erased once more: got %v; want nobody", done)
	}
	// Their session has ended, and they may come back as a new player.
	if s, err := db.Session(ctx, p.c.Token()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %+v, %v; want no session", s, err)
	}
	again := join(t, h.address(), p.c.Token())
	if again.c.Token() == p.c.Token() {
		t.Error("the erased player's token is valid")
	}
	if _, err := again.c.Login(ctx, private); err != nil {
		t.Errorf("the player cannot come back: %v", err)
	}
	until(t, "the new identity is stored", func() bool { _, err := db.Player(ctx, key); return err == nil })
	dead, err := h.runner.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10)
	if err != nil || len(dead) != 0 {
		t.Errorf("got dead letters %v, %v", dead, err)
	}
}
