package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/handoff"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestPeerMessages: commands of another machine are carried out in the order in which they
// were given, and once, also when that machine got no confirmation of its note and sends it
// again.
func TestPeerMessages(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, clusterConf(pgtest.Migrated(t), "a")).ready()
	untilOwned(t, 4, h.dir)
	p := join(t, h.address(), wamble.Token{})
	version := h.receivedNotes.LastApplied()
	send := func(name string, commands ...profile.Input) {
		t.Helper()
		var letters []cluster.Message
		for _, in := range commands {
			b, err := profile.AppendInput(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			letters = append(letters, cluster.Message{Profile: "default", Input: base64.StdEncoding.EncodeToString(b)})
		}
		b, err := json.Marshal(letters)
		if err != nil {
			t.Fatal(err)
		}
		version++
		h.receivedNotes.Add(version, cluster.MessagePrefix+"b/1/"+name, string(b))
		until(t, "the letter is read", func() bool { return h.receivedNotes.LastApplied() == version })
	}
	tea := &profile.Announce{Notice: wire.NoticeAnnouncement, Text: "tea is served"}
	send("x-1", tea)
	send("x-1", tea)
	p.stats(t.Context()) // the answer comes after the event
	send("x-2", &profile.Announce{Notice: wire.NoticeAnnouncement, Text: "that is all"})
	for _, want := range []string{"tea is served", "that is all"} {
		if got := notice(t, p, wire.NoticeAnnouncement); got != want {
			t.Fatalf("the player is told %q, want %q", got, want)
		}
	}
	// Lasting restrictions are read from where they are stored: a late note changes nothing.
	send("x-4", &profile.Ban{Whom: profile.Target{Net: netip.MustParsePrefix("127.0.0.0/24")}})
	if turnedAway(t, h.address()) != nil {
		t.Error("a ban that is not kept holds")
	}
}

// TestNotesHaveNoSecrets: what machines leave for each other in the database, when a player has
// logged in and out, has no token of the player.
func TestNotesHaveNoSecrets(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	h := serve(t, Options{}, clusterConf(db, "a")).ready()
	untilOwned(t, 4, h.dir)
	p := join(t, h.address(), wamble.Token{})
	tokens := []wamble.Token{p.c.Token()}
	p.login(t.Context())
	if tokens = append(tokens, p.c.Token()); tokens[0] == tokens[1] {
		t.Fatal("the login has not renewed the token")
	}
	if _, err := p.c.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	var told []profile.StoreEvent
	until(t, "the login and the logout are told", func() bool {
		told = nil
		for _, in := range posted(t, h) {
			if events, ok := in.(*profile.StoreEvents); ok {
				told = append(told, events.Changes...)
			}
		}
		return slices.ContainsFunc(told, func(c profile.StoreEvent) bool { return c.Urgent })
	})
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		for _, secret := range []any{token, token.Hash()} {
			part, err := json.Marshal(secret)
			if err != nil || bytes.Contains(text, bytes.Trim(part, "[]")) {
				t.Errorf("%v, the notes have %s: %s", err, part, text)
			}
		}
	}
}

// TestHandOverMessages: before a handoff the other machines are sent the last notes, or the
// next process inherits the unsent ones.
func TestHandOverMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	h := serve(t, Options{}, clusterConf(db, "a")).ready()
	a := h.rebalancer.peers
	tell := func(n int) {
		for range n {
			a.Broadcast("default", &profile.Announce{Text: "tea is served"})
		}
	}
	left := func() (n int) {
		t.Helper()
		_, b := h.handOverMessages()
		if b == nil {
			return 0
		}
		var l struct {
			Sending struct{ Letters []cluster.Message }
			Waiting []cluster.Message
		}
		if err := json.Unmarshal(b, &l); err != nil {
			t.Fatal(err)
		}
		return len(l.Sending.Letters) + len(l.Waiting)
	}
	for i := range 5 {
		tell(3)
		n := left()
		if there := len(posted(t, h)); there+n < 3*(i+1) {
			t.Fatalf("%d letters are posted and %d left, of %d", there, n, 3*(i+1))
		}
		a.SetPaused(false) // as if the handoff had failed
		if err := a.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if there := len(posted(t, h)); there != 3*(i+1) {
			t.Fatalf("%d letters are posted, of %d", there, 3*(i+1))
		}
	}
	release := holdMessages(t, db)
	tell(3)
	if n := left(); n != 3 {
		t.Errorf("%d letters are left, of 3", n)
	}
	release()
}

// TestHandoffMessagesOnce: the next process of a machine does not carry out again what
// another machine has sent to the former one.
func TestHandoffMessagesOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	b := spawnImage(t, staying(t, clusterConf(db, "b")))
	untilOwned(t, 2, a.dir, b.dir)
	// told returns the next text that a player is sent.
	told := func(p *player) string {
		t.Helper()
		for {
			e, err := p.c.Event(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == client.Notice {
				return e.Text
			}
		}
	}
	first := join(t, b.address(), wamble.Token{})
	a.command("kick", admin.Arguments{Whom: "127.0.0.0/8", Text: "too loud"})
	if got := told(first); !strings.Contains(got, "too loud") {
		t.Errorf("the player is told %q", got)
	}
	second := join(t, b.address(), wamble.Token{})
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	a.command("announce", admin.Arguments{Text: "tea is served"})
	if got := told(second); got != "tea is served" {
		t.Errorf("after the handoff the player is told %q", got)
	}
	b.end()
}

// holdMessages blocks all writes of notes until release is called.
func holdMessages(t testing.TB, db postgres.Options) (release func()) {
	t.Helper()
	return pgtest.Lock(t, db, `SELECT pg_advisory_lock(x'77616d62'::int, hashtext('main'))`)
}

// TestTwoMachinesKillAfterRevoke: when a player is told that their other sessions are revoked,
// that holds on all machines, also if their own is killed at once: they are told only after
// the other machines can read it in the database.
func TestTwoMachinesKillAfterRevoke(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	db := pgtest.Migrated(t)
	a := &machine{name: "a", dir: t.TempDir(), text: staying(t, clusterConf(db, "a"))}
	a.beginLong(t)
	untilOwned(t, 4, a.dir)
	b := serve(t, Options{Lease: long}, clusterConf(db, "b"))
	untilOwned(t, 2, a.dir, b.dir)
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

	release := holdMessages(t, db)
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

// TestPeerMessagesAreStored: when a command is answered, the database has its note for the
// other machines, or its effect.
func TestPeerMessagesAreStored(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, clusterConf(pgtest.Migrated(t), "a")).ready()
	untilOwned(t, 4, h.dir)
	p := join(t, h.address(), wamble.Token{})
	p.login(t.Context())
	for i := range 3 {
		h.command("announce", admin.Arguments{Text: strings.Repeat("tea ", i+1)})
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
	h.command("rename", admin.Arguments{Whom: p.stats(t.Context()).Handle, Name: "Carl"})
	if !slices.ContainsFunc(posted(t, h), func(in profile.Input) bool {
		events, ok := in.(*profile.StoreEvents)
		return ok && slices.ContainsFunc(events.Changes,
			func(c profile.StoreEvent) bool { return c.What == profile.Stale && !c.Key.IsZero() && c.Urgent })
	}) {
		t.Error("that the name is stale is not posted")
	}
}

// TestStopSendsMessages: a machine that stops in order sends the others its unsent notes, after
// its profiles have ended.
func TestStopSendsMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	h := serve(t, Options{}, clusterConf(db, "a")).ready()
	release := holdMessages(t, db)
	h.rebalancer.peers.Broadcast("default", &profile.Announce{Text: "tea is served"})
	h.stop()
	<-h.rebalancer.ended
	release()
	h.end()
	if n := pgtest.Query[int](t, db, `SELECT count(*) FROM shard_notes WHERE starts_with(name, 'news/')`); n != 1 {
		t.Errorf("%d letters were posted", n)
	}
}

// TestHandoffUnsentMessages: notes that a machine could not send before a handoff its next
// process sends, in order and once.
func TestHandoffUnsentMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	b := spawnImage(t, staying(t, clusterConf(db, "b")))
	untilOwned(t, 2, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(t.Context()).Ready() && b.status().Ready() })
	far := join(t, a.address(), wamble.Token{})
	release := holdMessages(t, db)
	for _, text := range []string{"one", "two"} { // the first one is on its way when the second one comes
		near := join(t, b.address(), wamble.Token{})
		go func() { // the handoff may be there before the answer
			var done admin.Counts
			_ = admin.Ask(t.Context(), b.dir, "kick", admin.Arguments{Whom: "127.0.0.0/8", Text: text}, &done)
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
