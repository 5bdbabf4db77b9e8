package profile

import (
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/wire"
)

// collect gathers the events of a profile from now on.
func (r *rig) collect() *StoreEvents {
	all := &StoreEvents{}
	r.trace = func(_ time.Time, _ []Input, out *Output) {
		all.Changes = append(all.Changes, slices.Clone(out.StoreEvents)...)
	}
	return all
}

// TestEventsOfRating: a game's changes of ratings reach a profile that shares the store, also
// for a session that is only there.
func TestEventsOfRating(t *testing.T) {
	red := beforeTheEnd(t, "", fools, []wamble.SessionID{101, 102, 101, 102}, 101)
	blue := newRig(t, "")
	for _, s := range []wamble.SessionID{101, 102} {
		blue.step(&RestoreSession{Session: *red.store.session(s),
			Answer: &Answer{Player: &wamble.Player{Stats: wamble.Stats{Rating: 1200}}}})
	}
	red.p.sessions.Kick(red.now, red.p.sessions.ByID(101)) // the player is only in blue
	events := red.collect()
	red.end(102, "d8h4")
	blue.step(events)
	won := blue.p.sessions.Rating(blue.p.sessions.ByID(102))
	if want := red.p.sessions.Rating(red.p.sessions.ByID(102)); won != want || won <= 1200 {
		t.Errorf("the winner: blue has %v, red %v", won, want)
	}
	if lost := blue.p.sessions.Rating(blue.p.sessions.ByID(101)); lost >= 1200 {
		t.Errorf("the loser: blue has %v", lost)
	}
}

// TestEventsOfLogin: a login in another profile makes the session here one of the identity,
// under its new token; a logout there ends it, frees its board and says so. Neither is stored
// twice. From another machine come the hashes of the tokens.
func TestEventsOfLogin(t *testing.T) {
	for name, told := range map[string]func(*StoreEvents) *StoreEvents{
		"here":                 func(in *StoreEvents) *StoreEvents { return in },
		"from another machine": (*StoreEvents).WithoutTokens,
	} {
		t.Run(name, func(t *testing.T) { testEventsOfLogin(t, told) })
	}
}

func testEventsOfLogin(t *testing.T, told func(*StoreEvents) *StoreEvents) {
	r := newRig(t, "")
	token, _ := r.join(1)
	s := r.p.sessions.Find(token)
	id, key, next := s.ID(), wamble.PublicKey{7}, wamble.Token{8}
	r.apply()
	linked := &Linked{
		Session: wamble.Session{ID: id, Token: hashOf(next)}, Token: next,
		Player: wamble.Player{ID: 5, Key: key, Handle: "h_anna", Stats: wamble.Stats{Rating: 1300}},
	}
	r.step(told(&StoreEvents{Changes: []StoreEvent{{What: LoggedIn, Session: id, Token: token, Key: key,
		Link: linked}}}))
	if linked.Token != next {
		t.Error("the event of this machine has lost its token")
	}
	if i := s.Identity(); i == nil || i.Handle() != "h_anna" || i.Rating() != 1300 ||
		r.p.sessions.Find(next) != s {
		t.Fatalf("after the login: identity %+v", i)
	}
	if r.p.sessions.Find(token) != nil || !r.p.sessions.Refused(token) {
		t.Error("the old token is good")
	}
	r.took()
	// A login that renews no token, of a session that is not here, voids none.
	kept := wamble.Token{9}
	r.step(told(&StoreEvents{Changes: []StoreEvent{{What: LoggedIn, Session: id + 1, Token: kept, Key: key,
		Link: &Linked{
			Session: wamble.Session{ID: id + 1, Token: hashOf(kept)}, Token: kept, Player: wamble.Player{ID: 5, Key: key},
		}}}}))
	if r.p.sessions.Refused(kept) {
		t.Error("a token that was not renewed is refused")
	}
	r.step(told(&StoreEvents{Changes: []StoreEvent{{What: LoggedOut, Session: id, Token: next, Key: key}}}))
	r.settle()
	if r.p.sessions.ByID(id) != nil || !r.p.sessions.Refused(next) || r.p.boards.Held(id) != nil {
		t.Error("after the logout the session is here, its token is good, or it holds a board")
	}
	for _, in := range r.intents() {
		switch in.(type) {
		case *intent.LinkSession, *intent.UnlinkSession, *intent.RenewToken:
			t.Errorf("it was stored twice: %v", in.Kind())
		}
	}
}

// TestEventsOfErasure: an identity that was erased in another profile is removed here, and
// its sessions have ended.
func TestEventsOfErasure(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	key := wamble.PublicKey{7}
	r.identified(token, key)
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Erased, Key: key}}})
	if r.p.sessions.Find(token) != nil || r.p.sessions.Identity(key) != nil || !r.p.sessions.Refused(token) {
		t.Error("the identity or its session is still here")
	}
}

// TestStoredTrustMayBeBehind: the trust in a player that the store has counts only when the
// store has the host's last command.
func TestStoredTrustMayBeBehind(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	s := r.p.sessions.Find(token)
	stored := func(level int) {
		r.step(&StoreEvents{Changes: []StoreEvent{{What: Trusted, Session: s.ID(), Level: level, Stored: true}}})
	}
	r.step(&Trust{Session: s.ID(), Level: 10})
	stored(0)
	if s.Trust() != 10 {
		t.Errorf("the store is behind: trust %d, want 10", s.Trust())
	}
	r.sync()
	r.step(&Applied{Seq: 1 << 40})
	stored(5)
	if s.Trust() != 5 {
		t.Errorf("changed in the database: trust %d, want 5", s.Trust())
	}
}

// TestOldTrustEvent: another profile's event of an earlier command does not undo a later one,
// by session or by key.
func TestOldTrustEvent(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	key := wamble.PublicKey{7}
	r.identified(token, key)
	s := r.p.sessions.Find(token)
	noon := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	r.step(&Trust{Session: s.ID(), Level: 10, At: noon})
	for _, c := range []struct {
		news StoreEvent
		want int
	}{
		{StoreEvent{Session: s.ID(), Level: 0, At: noon.Add(-time.Second)}, 10},
		{StoreEvent{Key: key, Level: 1, At: noon.Add(-time.Second)}, 10},
		{StoreEvent{Session: s.ID(), Level: 2, At: noon.Add(time.Second)}, 2},
		{StoreEvent{Key: key, Level: 3, At: noon.Add(time.Second)}, 3},
	} {
		c.news.What = Trusted
		r.step(&StoreEvents{Changes: []StoreEvent{c.news}})
		if s.Trust() != c.want {
			t.Errorf("%+v: trust %d, want %d", c.news, s.Trust(), c.want)
		}
	}
}

// TestLoginIsPublished: logins and logouts are sent to other profiles with the durable index
// of their frame.
func TestLoginIsPublished(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	events := r.collect()
	by := standardSigner(1)
	r.login(peerAt(1), token, 2, by)
	r.send(peerAt(1), encode(wire.Header{Token: token, Seq: 9}, wire.Logout{}))
	if len(events.Changes) != 2 || events.Changes[0].What != LoggedIn || events.Changes[1].What != LoggedOut {
		t.Fatalf("got %+v", events.Changes)
	}
	if c := events.Changes[0]; c.Key != by.key || c.Link.Player.Key != by.key || c.Link.Session.Token != token.Hash() ||
		c.Link.Token != token || c.Link.Session.Host == "" {
		t.Errorf("the login: got %+v, %+v", c, c.Link)
	}
	if c := events.Changes[1]; c.Token != token || c.Key != by.key || c.Session == 0 {
		t.Errorf("the logout: got %+v", c)
	}
}
