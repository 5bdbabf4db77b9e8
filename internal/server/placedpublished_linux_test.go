package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/cluster"
	"wamble/internal/handoff"
	"wamble/internal/host"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// holdLetters blocks all writes of notes until release is called.
func holdLetters(t testing.TB, db postgres.Options) (release func()) {
	t.Helper()
	return pgtest.Lock(t, db, `SELECT pg_advisory_lock(x'77616d62'::int, hashtext('main'))`)
}

// TestPlacedKillAfterRevoke: when a player is told that their other sessions are revoked,
// that holds on all machines, also if their own is killed at once: they are told only after
// the other machines can read it in the database.
func TestPlacedKillAfterRevoke(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a := &machine{name: "a", dir: t.TempDir(), text: staying(t, placedConf(db, "a"))}
	a.beginLong(t)
	until(t, "a has all parts", func() bool { return len(held(t, a.dir)) == 4 })
	b := serve(t, Options{Lease: long}, placedConf(db, "b"))
	untilShared(t, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.state(t) == "serves" && b.Status(ctx).Ready() })
	_, port, _ := strings.Cut(a.text, "(def port ")
	port, _, _ = strings.Cut(port, ")")
	own, other := join(t, "udp://127.0.0.1:"+port, wamble.Token{}), join(t, b.address(), wamble.Token{})
	private, voided := own.login(ctx), wamble.Token{}
	other.loginAs(ctx, private)
	voided = other.c.Token()
	games := openPostgres(t, db)
	until(t, "both sessions are stored", func() bool {
		_, err := games.Session(ctx, own.c.Token())
		_, err2 := games.Session(ctx, voided)
		return err == nil && err2 == nil
	})

	release := holdLetters(t, db)
	answered := make(chan error, 1)
	go func() {
		_, err := own.c.Revoke(ctx, 0)
		answered <- err
	}()
	until(t, "the other session is void in the database", func() bool {
		_, err := games.Session(ctx, voided)
		return errors.Is(err, store.ErrNotFound)
	})
	select {
	case err := <-answered:
		t.Fatalf("the player is told before the other machine can know: %v", err)
	default:
	}
	release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	a.kill()
	if got := notice(t, other, wire.NoticeSessionExpired); !strings.Contains(got, "ended") {
		t.Errorf("on the other machine the player is told %q", got)
	}
}

// posted returns the notes in the database for the other machines.
func posted(t testing.TB, h *here) (inputs []profile.Input) {
	t.Helper()
	notes, err := h.sharedJournal.log.Notes(t.Context(), h.sharedJournal.name)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range notes {
		var letters []cluster.Message
		if strings.HasPrefix(name, cluster.MessagePrefix) && json.Unmarshal([]byte(value), &letters) == nil {
			for _, l := range letters {
				b, err := base64.StdEncoding.DecodeString(l.Input)
				if err != nil {
					t.Fatal(err)
				}
				r := pack.NewReader(b)
				inputs = append(inputs, profile.ReadInput(&r))
			}
		}
	}
	return inputs
}

// TestPlacedCommandPublished: when a command is answered, the database has its note for the
// other machines, or its effect.
func TestPlacedCommandPublished(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, placedConf(pgtest.Migrated(t), "a")).ready()
	until(t, "it has all parts", func() bool { return len(held(t, h.dir)) == 4 })
	p := join(t, h.address(), wamble.Token{})
	p.login(t.Context())
	for i := range 3 {
		h.command("announce", host.Arguments{Text: strings.Repeat("tea ", i+1)})
		n := 0
		for _, in := range posted(t, h) {
			if _, ok := in.(*profile.Announce); ok {
				n++
			}
		}
		if n != i+1 {
			t.Errorf("after %d commands %d are posted", i+1, n)
		}
	}
	h.command("rename", host.Arguments{Whom: p.stats(t.Context()).Handle, Name: "Carl"})
	if !slices.ContainsFunc(posted(t, h), func(in profile.Input) bool {
		events, ok := in.(*profile.StoreEvents)
		return ok && slices.ContainsFunc(events.Changes, func(c profile.StoreEvent) bool { return c.What == profile.Renamed && c.Name == "Carl" })
	}) {
		t.Error("the new name is not posted")
	}
}

// TestPlacedStopPosts: a machine that stops in order sends the others its unsent notes, after
// its profiles have ended.
func TestPlacedStopPosts(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	h := serve(t, Options{}, placedConf(db, "a")).ready()
	release := holdLetters(t, db)
	h.rebalancer.peers.Broadcast("default", &profile.Announce{Text: "tea is served"})
	h.stop()
	<-h.rebalancer.ended
	release()
	h.end()
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM shard_notes WHERE starts_with(name, 'news/')`); n != 1 {
		t.Errorf("%d letters were posted", n)
	}
}

// TestPlacedHandoffUnsent: notes that a machine could not send before a handoff its next
// process sends, in order and once.
func TestPlacedHandoffUnsent(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	b := spawnImage(t, staying(t, placedConf(db, "b")))
	untilShared(t, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(t.Context()).Ready() && b.status().Ready() })
	far := join(t, a.address(), wamble.Token{})
	release := holdLetters(t, db)
	for _, text := range []string{"one", "two"} { // the first one is on its way when the second one comes
		near := join(t, b.address(), wamble.Token{})
		go func() { // the handoff may be there before the answer
			var done host.Counts
			_ = host.Ask(t.Context(), b.dir, "kick", host.Arguments{Whom: "127.0.0.0/8", Text: text}, &done)
		}()
		if got := notice(t, near, wire.NoticeSessionExpired); !strings.HasSuffix(got, text) {
			t.Fatalf("the player is told %q, want %q", got, text)
		}
	}
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	release()
	if got := notice(t, far, wire.NoticeSessionExpired); !strings.HasSuffix(got, "one") {
		t.Errorf("on the other machine the player is told %q", got)
	}
	until(t, "both are posted", func() bool { return len(posted(t, a)) >= 2 })
	if got := posted(t, a); len(got) != 2 {
		t.Errorf("%d letters are posted, want 2", len(got))
	}
	if left := b.leftovers(); len(left) > 0 {
		t.Errorf("the handoff has left %v", left)
	}
	b.end()
}

// TestInheritedMessagesLate: notes are read again after a while, although more than one of
// the shards that were handed over is not running.
func TestInheritedMessagesLate(t *testing.T) {
	t.Parallel()
	s, err := Open(Options{Config: loadConf(t, conf("(def shards 2)\n")), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.o.Handoff.Inheritance = &handoff.Inheritance{}
	if n := len(s.shards()); n != 2 || s.shards()[0].isRemote() || s.shards()[1].isRemote() {
		t.Fatalf("%d loops", n)
	}
	s.delayNotesUntilUp(t.Context(), time.Millisecond)
	until(t, "letters are read", func() bool { return !s.receivedNotes.Paused() })
	s.background.Wait()
}
