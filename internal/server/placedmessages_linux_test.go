package server

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/cluster"
	"wamble/internal/host"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestPlacedMessages: commands of another machine are carried out in the order in which they
// were given, and once, also when that machine got no confirmation of its note and sends it
// again.
func TestPlacedMessages(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, placedConf(pgtest.Migrated(t), "a")).ready()
	until(t, "it has all parts", func() bool { return len(held(t, h.dir)) == 4 })
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

// TestHandOverMessages: before a handoff the other machines are sent the last notes, or the
// next process inherits the unsent ones.
func TestHandOverMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	h := serve(t, Options{}, placedConf(db, "a")).ready()
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
	release := holdLetters(t, db)
	tell(3)
	if n := left(); n != 3 {
		t.Errorf("%d letters are left, of 3", n)
	}
	release()
}

// TestPlacedHandoffMessages: the next process of a machine does not carry out again what
// another machine has sent to the former one.
func TestPlacedHandoffMessages(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	b := spawnImage(t, staying(t, placedConf(db, "b")))
	untilShared(t, a.dir, b.dir)
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
	a.command("kick", host.Arguments{Whom: "127.0.0.0/8", Text: "too loud"})
	if got := told(first); !strings.Contains(got, "too loud") {
		t.Errorf("the player is told %q", got)
	}
	second := join(t, b.address(), wamble.Token{})
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	a.command("announce", host.Arguments{Text: "tea is served"})
	if got := told(second); got != "tea is served" {
		t.Errorf("after the handoff the player is told %q", got)
	}
	b.end()
}
