package profile

import (
	"testing"

	"wamble"
)

// TestEventsOfCopies: an event of another machine counts once, whether the store had it when
// it was read or not, and whether it arrives before or after.
func TestEventsOfCopies(t *testing.T) {
	const games, session = 3, 900 // that the identity has, and one of its sessions
	token, key := wamble.Token{4}, wamble.PublicKey{7}
	at := func(message uint64) Stamp { return Stamp{Journal: 1, Message: message} }
	credited := StoreEvent{What: Credited, Session: session, Key: key, Won: wamble.Stats{Games: 1}}
	other := StoreEvent{What: Credited, Session: session + 1, Key: key, Won: wamble.Stats{Games: 1}}
	login := StoreEvent{What: LoggedIn, Session: session + 1, Key: key, Won: wamble.Stats{Games: 1}, Link: &Linked{
		Session: wamble.Session{ID: session + 1}, Player: wamble.Player{ID: 5, Key: key},
	}}
	logout := StoreEvent{What: LoggedOut, Session: session + 1, Key: key, Won: wamble.Stats{Games: 1}}
	passed := credited
	passed.Passed = true
	for name, tc := range map[string]struct {
		change StoreEvent
		whole  int // what the counted change adds to the identity
		own    int // and the session
	}{
		"won by the session":      {credited, 1, 1},
		"won by another session":  {other, 1, 0},
		"login of another one":    {login, 1, 0},
		"logout of another one":   {logout, -1, 0},
		"passed on to who has it": {passed, 0, 0},
	} {
		for _, order := range []struct {
			name    string
			message uint64 // of the change; the store has 10
			missed  bool   // it arrived before the store was read
			counts  int
		}{
			{"in the store, told later", 10, false, 0},
			{"not in the store, told later", 11, false, 1},
			{"not in the store, told before", 11, true, 1},
			{"by a machine that does not say where", 0, false, 1},
			{"in another journal", 12, false, 1},
		} {
			t.Run(name+"/"+order.name, func(t *testing.T) {
				r := newRig(t, "")
				c := tc.change
				switch order.message {
				case 0:
				case 12:
					c.Stamp = Stamp{Journal: 2, Message: 1}
				default:
					c.Stamp = at(order.message)
				}
				in := &Loaded{Session: &wamble.Session{ID: session, Token: hashOf(token), Player: 5, Key: key,
					LastSeen: epoch, Stats: wamble.Stats{Games: 1}},
					Answer:  &Answer{Player: &wamble.Player{ID: 5, Key: key, Stats: wamble.Stats{Games: games}}},
					Cursors: Cursors{at(10)}}
				if order.missed {
					r.step(&StoreEvents{Changes: []StoreEvent{c}})
					in.Missed = []StoreEvent{c}
				}
				r.step(&Packet{Peer: peerAt(1), Data: helloPacket(token, 1)})
				in.Load = r.loads[0].ID
				r.step(in)
				if !order.missed {
					r.step(&StoreEvents{Changes: []StoreEvent{c}})
				}
				s := r.p.sessions.Find(token)
				if s == nil {
					t.Fatal("the player is not there")
				}
				if got, want := s.Identity().Stats().Games, games+tc.whole*order.counts; got != want {
					t.Errorf("the identity has %d games, want %d", got, want)
				}
				if got, want := s.Own().Games, 1+tc.own*order.counts; got != want {
					t.Errorf("the session has %d games, want %d", got, want)
				}
			})
		}
	}
}

// TestEventsOfOlderCopy: an identity that was in memory before one of its sessions was read
// lacks the session's totals.
func TestEventsOfOlderCopy(t *testing.T) {
	tokens, key := []wamble.Token{{4}, {5}}, wamble.PublicKey{7}
	r := newRig(t, "")
	for i, token := range tokens {
		r.step(&Packet{Peer: peerAt(i + 1), Data: helloPacket(token, 1)})
		r.step(&Loaded{Load: r.loads[len(r.loads)-1].ID, Cursors: Cursors{{Journal: 1, Message: uint64(10 * (i + 1))}},
			Session: &wamble.Session{ID: wamble.SessionID(900 + i), Token: hashOf(token), Player: 5, Key: key,
				LastSeen: epoch, Stats: wamble.Stats{Games: 1}},
			Answer: &Answer{Player: &wamble.Player{ID: 5, Key: key, Stats: wamble.Stats{Games: 2 + i}}}})
	}
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Credited, Session: 901, Key: key, Won: wamble.Stats{Games: 1},
		Stamp: Stamp{Journal: 1, Message: 15}}}})
	s := r.p.sessions.Find(tokens[1])
	if whole, own := s.Identity().Stats().Games, s.Own().Games; whole != 3 || own != 1 {
		t.Errorf("the identity has %d games, the session %d, want 3 and 1", whole, own)
	}
}

// TestCacheAgesAreForgotten: the records of copies are bounded in time and number.
func TestCacheAgesAreForgotten(t *testing.T) {
	c, change := newCacheAges(), &StoreEvent{Session: 1, Stamp: Stamp{Journal: 1, Message: 1}}
	c.add(0, cacheAge{session: 1, store: Cursors{change.Stamp}})
	if !c.applied(change, nil).session {
		t.Error("it is not known")
	}
	c.add(PeerMessageAge+1, cacheAge{session: 2})
	if c.applied(change, nil).session || len(c.queue) != 1 || len(c.sessions) != 1 {
		t.Errorf("%d are known after a minute, want 1", len(c.sessions))
	}
	for i := range wamble.SessionID(2 * maxCacheAges) {
		c.add(PeerMessageAge+1, cacheAge{session: 3 + i})
	}
	if len(c.queue) != maxCacheAges || len(c.sessions) != maxCacheAges {
		t.Errorf("%d are known, want %d", len(c.sessions), maxCacheAges)
	}
}

// TestAdoptCacheAges: the next process has the store's position at which each player was
// read, and counts later events once.
func TestAdoptCacheAges(t *testing.T) {
	token, key := wamble.Token{4}, wamble.PublicKey{7}
	r := newRig(t, "")
	r.step(&Packet{Peer: peerAt(1), Data: helloPacket(token, 1)})
	r.step(&Loaded{Load: r.loads[0].ID, Cursors: Cursors{{Journal: 1, Message: 10}},
		Session: &wamble.Session{ID: 900, Token: hashOf(token), Player: 5, Key: key, LastSeen: epoch,
			Stats: wamble.Stats{Games: 1}},
		Answer: &Answer{Player: &wamble.Player{ID: 5, Key: key, Stats: wamble.Stats{Games: 3}}}})
	r.settle()
	next := handOver(t, r)
	for _, message := range []uint64{10, 11} {
		next.step(&StoreEvents{Changes: []StoreEvent{{What: Credited, Session: 900, Key: key,
			Won: wamble.Stats{Games: 1}, Stamp: Stamp{Journal: 1, Message: message}}}})
	}
	s := next.p.sessions.Find(token)
	if whole, own := s.Identity().Stats().Games, s.Own().Games; whole != 4 || own != 2 {
		t.Errorf("the identity has %d games, the session %d, want 4 and 2", whole, own)
	}
	if at := next.p.cacheAges.queue[0].at; at > next.p.clock.since {
		t.Errorf("a copy was made %v after now", at-next.p.clock.since)
	}
}
