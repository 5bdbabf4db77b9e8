package server

import (
	"fmt"
	"net/netip"
	"testing"

	"wamble"
)

// TestHandoffOfProfiles: the next process serves other profiles than the one before it.
// Players of a profile that stays notice nothing; players of one that moved find their board
// there by their token; the port that it left serves the new profile; and the moves of the
// removed one are in the store.
func TestHandoffOfProfiles(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 4)
	at := func(port uint16) string { return fmt.Sprintf("udp://127.0.0.1:%d", port) }
	text := func(profiles string, numbers ...any) string {
		return conf("(def advertise 1)" + fmt.Sprintf(profiles, numbers...))
	}
	i := spawnImage(t, text("(defprofile stays ((def port %d)))(defprofile moves ((def port %d)))(defprofile goes ((def port %d)))",
		ports[0], ports[1], ports[2]))
	stays, moves, goes := gather(t, at(ports[0]), 4), gather(t, at(ports[1]), 4), gather(t, at(ports[2]), 4)
	for _, c := range []*crowd{stays, moves, goes} {
		c.play()
		c.more(t, 50)
	}
	moves.finish()
	goes.finish()

	i.write("test.conf", text("(defprofile stays ((def port %d)))(defprofile moves ((def port %d)))(defprofile comes ((def port %d)))"+
		"(defprofile goes ((def port %d) (def advertise 0)))", ports[0], ports[3], ports[1], ports[2]))
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	stays.more(t, 50)
	comes := gather(t, at(ports[1]), 4)
	for n, p := range moves.players {
		was := p.c.Board().ID
		again := join(t, at(ports[3]), p.c.Token())
		if got := again.c.Board().ID; got != was {
			t.Errorf("player %d had board %d, and has %d at the other port", n, was, got)
		}
		p.c, again.c = again.c, p.c
	}
	for _, c := range []*crowd{comes, moves} {
		c.play()
		c.more(t, 50)
	}
	var names string
	for _, p := range i.status().Profiles {
		names += p.Name + " "
	}
	if want := "stays moves comes "; names != want {
		t.Errorf("it serves %s, want %s", names, want)
	}
	for _, c := range []*crowd{stays, moves, comes} {
		c.finish()
	}
	until(t, "what the one that is gone left is in the store", func() bool { return len(i.status().Departing) == 0 })
	i.end()
	store := openSQLite(t, i.dir)
	for name, c := range map[string]*crowd{"stays": stays, "moves": moves, "goes": goes, "comes": comes} {
		c.verifyProfile(t, store, name)
		for _, p := range c.players {
			if p.doubtful+p.refused > 0 {
				t.Errorf("%s: %d moves are doubtful, %d were refused", name, p.doubtful, p.refused)
			}
		}
	}
}

// TestHandoffAnnouncesPorts: profiles whose ports the kernel has chosen are announced with
// their true ports after a handoff too, those that are new as well.
func TestHandoffAnnouncesPorts(t *testing.T) {
	t.Parallel()
	text := conf("(def advertise 1)(defprofile red ())(defprofile blue ())")
	i := spawnImage(t, text)
	p := join(t, i.address(), wamble.Token{})
	i.write("test.conf", text+"(defprofile green ())")
	if _, err := i.handOff(""); err != nil {
		t.Fatal(err)
	}
	until(t, "all serve", func() bool { return i.status().Ready() })
	for _, s := range i.status().Profiles {
		got, err := p.c.Profile(t.Context(), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		if want := netip.MustParseAddrPort(s.UDP).Port(); got.Port != want {
			t.Errorf("profile %s is announced on port %d, want %d", s.Name, got.Port, want)
		}
	}
	i.end()
}
