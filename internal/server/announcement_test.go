package server

import (
	"context"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
)

// told waits for a lasting announcement, or for its withdrawal.
func (p *player) told(ctx context.Context, what string) client.Event {
	p.t.Helper()
	for {
		e, err := p.c.Event(ctx)
		if err != nil {
			p.t.Fatalf("%s: %v", what, err)
		}
		if e.Kind == client.Notice && e.Stays != nil {
			return e
		}
	}
}

// TestAnnouncementsStay: an announcement with an end is sent to the connected players and to
// newcomers of all profiles, over UDP and WebSocket, after a restart too, until it is
// withdrawn.
func TestAnnouncementsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := conf(`(def advertise 1) (defprofile red ()) (defprofile blue ())`)
	h := serve(t, Options{Dir: dir}, text).ready()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	early := join(t, h.at("red"), wamble.Token{})
	h.command("announce", admin.Arguments{Text: "we move", Until: time.Now().Add(time.Hour), Countdown: true})
	first := early.told(ctx, "who is here")
	if first.Text != "we move" || !first.Stays.Countdown || first.Stays.For <= 59*time.Minute ||
		first.Stays.For > time.Hour {
		t.Errorf("who is here: %+v, %+v", first, first.Stays)
	}
	newcomers := func() {
		t.Helper()
		stream := ""
		for _, p := range h.Profiles() {
			if p.Profile == "blue" {
				stream = "ws://" + p.HTTP.String() + "/ws"
			}
		}
		for name, address := range map[string]string{"UDP": h.at("red"), "WebSocket": stream} {
			if got := join(t, address, wamble.Token{}).told(ctx, name); got.Text != "we move" ||
				got.Stays.ID != first.Stays.ID {
				t.Errorf("a newcomer over %s: %+v, %+v", name, got, got.Stays)
			}
		}
	}
	newcomers()
	h.end()
	h = serve(t, Options{Dir: dir}, text).ready()
	newcomers()
	var list []struct{ Text, By string }
	if err := admin.Ask(ctx, dir, "announcements", nil, &list); err != nil || len(list) != 1 ||
		list[0].Text != "we move" || list[0].By == "" {
		t.Errorf("listed: %+v, %v", list, err)
	}
	again := join(t, h.at("red"), early.c.Token())
	again.told(ctx, "who comes back")
	h.command("announce", admin.Arguments{Clear: true})
	if got := again.told(ctx, "withdrawn"); got.Stays.For != 0 || got.Stays.ID != first.Stays.ID {
		t.Errorf("withdrawn: %+v", got.Stays)
	}
	if err := admin.Ask(ctx, dir, "announcements", nil, &list); err != nil || len(list) != 0 {
		t.Errorf("listed afterwards: %+v, %v", list, err)
	}
	for name, wrong := range map[string]admin.Arguments{
		"an end that is over":        {Text: "x", Until: time.Now().Add(-time.Second)},
		"a countdown without an end": {Text: "x", Countdown: true}, "no text": {Until: time.Now().Add(time.Hour)},
	} {
		if err := admin.Ask(ctx, dir, "announce", wrong, &struct{}{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
