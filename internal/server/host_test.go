package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/profile"
	"wamble/wire"
)

// command gives an order over the control socket.
func (h *here) command(verb string, o admin.Arguments) admin.Counts {
	h.t.Helper()
	var done admin.Counts
	if err := admin.Ask(h.t.Context(), h.dir, verb, o, &done); err != nil {
		h.t.Fatalf("%s: %v", verb, err)
	}
	return done
}

// turnedAway returns the refusal of a newcomer, nil if they are admitted.
func turnedAway(t testing.TB, address string) *wamble.Denied {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dial(ctx, address, wamble.Token{})
	var denied *wamble.Denied
	switch {
	case errors.As(err, &denied):
		return denied
	case err != nil:
		t.Fatal(err)
	}
	c.Close()
	return nil
}

// notice waits for a notification of a type, and returns its text.
func notice(t testing.TB, p *player, want wire.NoticeType) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		e, err := p.c.Event(ctx)
		if err != nil {
			t.Fatalf("no notice %v: %v", want, err)
		}
		if e.Kind == client.Notice && e.Notice == want {
			return e.Text
		}
	}
}

// TestOrders: each of the host's commands reaches the players it is for, and no others.
func TestOrders(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, three("")).ready()
	red, green := "udp://"+s.Profiles()[0].UDP.String(), "udp://"+s.Profiles()[1].UDP.String()
	a, b := join(t, red, wamble.Token{}), join(t, green, wamble.Token{})
	for _, p := range []*player{a, b} {
		p.move(t.Context())
	}

	if got := s.command("announce", admin.Arguments{Text: "tea is served"}); len(got) != 3 || got["red"] != 1 {
		t.Errorf("announce: got %v", got)
	}
	for _, p := range []*player{a, b} {
		if got := notice(t, p, wire.NoticeAnnouncement); got != "tea is served" {
			t.Errorf("a player was told %q", got)
		}
	}
	s.command("announce", admin.Arguments{Profile: "green", Text: "we close", Urgent: true})
	if got := notice(t, b, wire.NoticeMaintenance); got != "we close" {
		t.Errorf("a player was told %q", got)
	}

	if got := s.command("kick", admin.Arguments{Whom: a.c.Token().String(), Text: "too loud"}); got["red"] != 1 ||
		got["green"] != 0 {
		t.Errorf("kick: got %v", got)
	}
	if got := notice(t, a, wire.NoticeSessionExpired); !strings.Contains(got, "too loud") {
		t.Errorf("the kicked player was told %q", got)
	}
	if d := turnedAway(t, red); d != nil {
		t.Errorf("after a kick: %v", d)
	}

	s.command("brownout", admin.Arguments{Profile: "red", Brownout: profile.Brownout{NoNewSessions: true}})
	if d := turnedAway(t, red); d == nil || d.Code != wamble.Internal {
		t.Errorf("a newcomer in a brown-out: %v", d)
	}
	if d := turnedAway(t, green); d != nil {
		t.Errorf("a newcomer elsewhere: %v", d)
	}
	if got := s.Status(t.Context()).Profiles[0].Brownout; strings.Join(got, " ") != "no-new-sessions" {
		t.Errorf("the status says %v", got)
	}
	s.command("brownout", admin.Arguments{Profile: "red"})
	if d := turnedAway(t, red); d != nil {
		t.Errorf("after a brown-out: %v", d)
	}

	s.command("drain", admin.Arguments{On: true})
	if got := s.readyz(); got != "503 red: "+draining {
		t.Errorf("/readyz says %s", got)
	}
	if d := turnedAway(t, green); d == nil {
		t.Error("a draining server takes newcomers")
	}
	if !b.move(t.Context()) {
		t.Error("a draining server does not let its players play")
	}
	s.command("drain", admin.Arguments{})
	if got := s.readyz(); got != "200 ready" {
		t.Errorf("/readyz says %s", got)
	}

	for _, tc := range []struct {
		verb string
		o    admin.Arguments
		want string
	}{
		{"kick", admin.Arguments{Whom: "somebody"}, "nobody has this name"},
		{"ban", admin.Arguments{}, "name a player by"},
		{"announce", admin.Arguments{}, "needs a text"},
		{"brownout", admin.Arguments{Profile: "pink"}, `no profile "pink" runs here, but red, green, blue`},
	} {
		if err := admin.Ask(t.Context(), s.dir, tc.verb, tc.o, new(admin.Counts)); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %+v: got %v, want %q", tc.verb, tc.o, err, tc.want)
		}
	}
}

// TestBanReachesLaterProfiles: a player banned in all profiles is refused by one that a
// reload adds, and after a restart, until the ban is lifted there.
func TestBanReachesLaterProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &file{profilesOn("red", 0)}
	s := serve(t, Options{Dir: dir, Load: f.load}, f.text).ready()
	s.command("ban", admin.Arguments{Whom: "127.0.0.1"})
	f.text = profilesOn("red", 0, "blue", 0)
	if _, err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ready()
	if turnedAway(t, s.at("blue")) == nil {
		t.Error("a profile that was added admits the banned player")
	}
	s.end()
	s = serve(t, Options{Dir: dir}, f.text).ready()
	if turnedAway(t, s.at("blue")) == nil {
		t.Error("after a restart the banned player is admitted")
	}
	if n := s.command("unban", admin.Arguments{Whom: "127.0.0.1", Profile: "blue"}); n["blue"] != 1 {
		t.Errorf("got %v", n)
	}
	s.end()
	s = serve(t, Options{Dir: dir}, f.text).ready()
	if turnedAway(t, s.at("blue")) != nil || turnedAway(t, s.at("red")) == nil {
		t.Error("it was lifted in blue alone, and holds there, or not in red")
	}
}
