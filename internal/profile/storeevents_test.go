package profile

import (
	"slices"
	"strings"
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

// stale applies intents of another profile to the store, and then the event of the last one.
func (r *rig) stale(all ...intent.Intent) {
	r.t.Helper()
	for _, in := range all {
		if err := r.store.apply(in); err != nil {
			r.t.Fatal(err)
		}
	}
	c, ok := staleBy(all[len(all)-1])
	if !ok {
		r.t.Fatal("nobody is stale")
	}
	r.step(&StoreEvents{Changes: []StoreEvent{c}})
	r.answerLoads()
}

// TestStaleAfterLogin: a login in another profile makes the session here one of the identity, under its new token;
// a logout there ends it, frees its board and says so. Neither is stored twice.
func TestStaleAfterLogin(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	s := r.p.sessions.Find(token)
	id, key, next := s.ID(), wamble.PublicKey{7}, wamble.Token{8}
	r.apply()
	link := &intent.LinkSession{Session: id, Key: key, Player: 5, Handle: "h_anna", Rating: 1300, At: r.now}
	r.stale(link, &intent.RenewToken{Session: id, Token: hashOf(next), At: r.now})
	if i := s.Identity(); i == nil || i.Handle() != "h_anna" || i.Rating() != 1300 || r.p.sessions.Find(next) != s {
		t.Fatalf("after the login: identity %+v", i)
	}
	if r.p.sessions.Find(token) != nil || !r.p.sessions.Refused(token) {
		t.Error("the old token is good")
	}
	r.took()
	r.stale(&intent.UnlinkSession{Session: id, At: r.now}, &intent.RenewToken{Session: id, Token: hashOf(token), At: r.now})
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

// TestStaleFacts: trust, name and mark of another profile are here, too; a session that was ended or erased
// there ends.
func TestStaleFacts(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	by := standardSigner(1)
	key := by.key
	r.login(peerAt(1), token, 2, by)
	s := r.p.sessions.Find(token)
	r.apply()
	r.stale(&intent.SetTrust{Key: key, Level: 3})
	r.stale(&intent.SetName{Key: key, Name: "Anna"})
	r.stale(&intent.MarkBot{Session: s.ID()})
	if s.Trust() != 3 || s.Identity().Handle() != "Anna" || !s.Bot() || s.Stale() {
		t.Errorf("trust %d, name %q, bot %v", s.Trust(), s.Identity().Handle(), s.Bot())
	}
	r.stale(&intent.RevokeSessions{Session: s.ID(), Key: key})
	if r.p.sessions.Find(token) != nil || !r.p.sessions.Refused(token) {
		t.Error("the session has not ended")
	}
	token, _ = r.join(2)
	r.login(peerAt(2), token, 2, by)
	r.apply()
	r.stale(&intent.ErasePlayer{Key: key})
	if r.p.sessions.Find(token) != nil || r.p.sessions.Fresh(key) != nil || !r.p.sessions.Refused(token) {
		t.Error("the identity or its session is still here")
	}
}

// TestStaleWhileAway: while the store is away a stale session is refused, and never served with its old facts; then
// it is read with its next request, also after a handoff.
func TestStaleWhileAway(t *testing.T) {
	r := newRig(t, "")
	token, board := r.join(1)
	s := r.p.sessions.Find(token)
	r.apply()
	r.step(&StoreAway{})
	r.stale(&intent.SetTrust{Session: s.ID(), Level: 3})
	if got := r.send(peerAt(1), movePacket(token, board, 5, "e2e4")); !strings.Contains(got, "database away") {
		t.Errorf("got %s", got)
	}
	next := handOver(t, r)
	next.step(&StoreBack{})
	if got := next.asks(peerAt(1), movePacket(token, board, 6, "e2e4")); !strings.Contains(got, "BOARD_UPDATE") {
		t.Errorf("got %s", got)
	}
	if s := next.p.sessions.Find(token); s.Trust() != 3 || s.Stale() {
		t.Errorf("trust %d", s.Trust())
	}
}

// TestStaleAndDecidedHere: an answer that is older than a decision here changes nothing.
func TestStaleAndDecidedHere(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	s := r.p.sessions.Find(token)
	r.apply()
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Stale, Session: s.ID()}}})
	r.step(&Trust{Session: s.ID(), Level: 10})
	r.answerLoads()
	if s.Trust() != 10 || !s.Stale() {
		t.Errorf("trust %d, want 10, to be read again", s.Trust())
	}
	r.sync()
	r.apply()
	r.asks(peerAt(1), statsPacket(token, 9))
	if s.Trust() != 10 || s.Stale() {
		t.Errorf("trust %d, want 10", s.Trust())
	}
}

// TestStaleAgainMeanwhile: a request waits for the facts of a stale session again if something is decided about it
// while the store is asked, but not for ever.
func TestStaleAgainMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		name      string
		decisions int // one during each question
		want      string
	}{
		{"once", 1, "PLAYER_STATS_DATA"},
		{"as often as a request waits", maxRefreshes - 1, "PLAYER_STATS_DATA"},
		{"at every question", maxRefreshes, "outdated"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "")
			token, _ := r.join(1)
			s := r.p.sessions.Find(token)
			r.apply()
			r.step(&StoreAway{}, &StoreEvents{Changes: []StoreEvent{{What: Stale, Session: s.ID()}}})
			r.p.storeAway = false // the request asks first
			r.step(&Packet{peerAt(1), statsPacket(token, 9)})
			got := ""
			for i := range tc.decisions {
				r.step(&Trust{Session: s.ID(), Level: i + 10})
				question := r.loads[0]
				r.loads = r.loads[1:]
				r.step(r.store.answer(question))
				r.settle()
				r.apply()
				got += r.took()
			}
			r.answerLoads()
			r.settle()
			if got += r.took(); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestStaleAndDecidedForKey is TestStaleAndDecidedHere for a decision about all sessions of a key.
func TestStaleAndDecidedForKey(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	s := r.p.sessions.Find(r.loginAnew(peerAt(1), token, 5, standardSigner(1)))
	key := s.Identity().Key()
	r.sync()
	r.apply()
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Stale, Key: key}}})
	r.step(&Trust{Key: key, Level: 10})
	r.answerLoads()
	if s.Trust() != 10 || !s.Stale() {
		t.Errorf("trust %d, want 10, to be read again", s.Trust())
	}
}

// TestStaleIsPublished: a login and a logout make the session stale elsewhere, with the durable index of their
// frame; no token is told.
func TestStaleIsPublished(t *testing.T) {
	r := newRig(t, "")
	token, _ := r.join(1)
	id := r.p.sessions.Find(token).ID()
	events := r.collect()
	r.login(peerAt(1), token, 2, standardSigner(1))
	r.send(peerAt(1), encode(wire.Header{Token: token, Seq: 9}, wire.Logout{}))
	want := []StoreEvent{{What: Stale, Session: id}, {What: Stale, Session: id, Urgent: true}, {What: Stale, Session: id}}
	if !slices.Equal(events.Changes, want) {
		t.Errorf("got %+v, want %+v", events.Changes, want)
	}
}
