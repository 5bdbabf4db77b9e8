package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/host"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
	"wamble/wire"
)

// TestPlacedLetters: commands of another machine are carried out in the order in which they
// were given, and once, also when that machine does not know whether its letter has arrived
// and sends it again.
func TestPlacedLetters(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, placedConf(pgtest.Empty(t), "a")).ready()
	until(t, "it has all parts", func() bool { return len(held(t, h.dir)) == 4 })
	p := join(t, h.address(), wamble.Token{})
	version := h.noted.last()
	send := func(name string, commands ...profile.Input) {
		t.Helper()
		var letters []letter
		for _, in := range commands {
			b, err := profile.AppendInput(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			letters = append(letters, letter{Profile: "default", Input: base64.StdEncoding.EncodeToString(b)})
		}
		b, err := json.Marshal(letters)
		if err != nil {
			t.Fatal(err)
		}
		version++
		h.noted.add(version, newsPrefix+"b/1/"+name, string(b))
		until(t, "the letter is read", func() bool { return h.noted.last() == version })
	}
	tea := &profile.Announce{Notice: wire.NoticeAnnouncement, Text: "tea is served"}
	send("x-1", tea)
	send("x-1", tea)
	p.stats(t.Context()) // who asks is answered behind that
	send("x-2", &profile.Announce{Notice: wire.NoticeAnnouncement, Text: "that is all"})
	for _, want := range []string{"tea is served", "that is all"} {
		if got := notice(t, p, wire.NoticeAnnouncement); got != want {
			t.Fatalf("he is told %q, want %q", got, want)
		}
	}
	whom := profile.Whom{Net: netip.MustParsePrefix("127.0.0.0/24")}
	var commands []profile.Input
	for range 50 {
		commands = append(commands, &profile.Ban{Whom: whom}, &profile.Unban{Whom: whom})
	}
	send("x-3", commands[:len(commands)-1]...)
	if turnedAway(t, h.address()) == nil {
		t.Error("the last command was a ban")
	}
	send("x-4", commands...)
	if turnedAway(t, h.address()) != nil {
		t.Error("the last command was to lift the ban")
	}
}

// TestLastLetters: before a process becomes another image the other machines are told what
// has just happened.
func TestLastLetters(t *testing.T) {
	t.Parallel()
	h := serve(t, Options{}, placedConf(pgtest.Empty(t), "a")).ready()
	sent := 0
	for range 5 {
		for range 3 {
			h.placing.abroad.tell("default", &profile.Announce{Text: "tea is served"})
			sent++
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		h.placing.abroad.flush(ctx)
		cancel()
		notes, err := h.cluster.log.Notes(t.Context(), h.cluster.name)
		if err != nil {
			t.Fatal(err)
		}
		there := 0
		for name, value := range notes {
			var letters []letter
			if strings.HasPrefix(name, newsPrefix) && json.Unmarshal([]byte(value), &letters) == nil {
				there += len(letters)
			}
		}
		if there != sent {
			t.Fatalf("%d of %d letters were sent", there, sent)
		}
	}
}

// TestPlacedHandoffLetters: the next image of a machine does not carry out again what
// another one has said to the image before.
func TestPlacedHandoffLetters(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a := serve(t, Options{}, placedConf(db, "a")).ready()
	b := spawnImage(t, staying(t, placedConf(db, "b")))
	until(t, "both have two parts", func() bool { return len(held(t, a.dir)) == 2 && len(held(t, b.dir)) == 2 })
	// told returns what a player is told next.
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
		t.Errorf("he is told %q", got)
	}
	second := join(t, b.address(), wamble.Token{})
	if _, err := b.handOff(""); err != nil {
		t.Fatalf("handoff: %v", err)
	}
	a.command("announce", host.Arguments{Text: "tea is served"})
	if got := told(second); got != "tea is served" {
		t.Errorf("after the handoff he is told %q", got)
	}
	b.end()
}
