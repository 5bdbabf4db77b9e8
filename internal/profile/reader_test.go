package profile

import (
	"net/netip"
	"testing"
	"time"

	"wamble/internal/access"
	"wamble/internal/session"

	"wamble"
)

// TestReaders: readers over HTTP pass the same checks as clients that send packets.
func TestReaders(t *testing.T) {
	view := []access.Right{{Action: "protocol.ctrl", Resource: "spectate_game"},
		{Action: "spectate.access", Resource: "view", Key: "mode", Value: "focus"}}
	ranks := []access.Right{{Action: "protocol.ctrl", Resource: "get_leaderboard"},
		{Action: "leaderboard.read", Resource: "global"}}
	stats := []access.Right{{Action: "stats.read", Resource: "player"}}
	look := []access.Right{{Action: "protocol.ctrl", Resource: "list_profiles"}}
	friend := &wamble.Player{ID: 9, Key: wamble.PublicKey{9}}
	const no, terms, banned = "denied", "terms acceptance required", "you are banned from this server"
	for _, tc := range []struct {
		name, conf  string
		rights      []access.Right
		about       *wamble.Player
		ban         Target
		guest, mine string // without a session, and of the session; "" is admitted
	}{
		{name: "open by default", rights: view},
		{name: "closed", conf: `(def policy-default "deny")`, rights: ranks, guest: no, mine: no},
		{name: "closed but for this", conf: `(def policy-default "deny") (policy-allow "*" "protocol.ctrl" "get_leaderboard" 0) (policy-allow "*" "leaderboard.read" "global" 0)`, rights: ranks},
		{name: "one of two rights", conf: `(policy-deny "*" "leaderboard.read" "global")`, rights: ranks, guest: no, mine: no},
		{name: "a rule for a player", conf: `(policy-deny "*" "leaderboard.read" "global") (policy-allow "id:112" "leaderboard.read" "global" 0)`, rights: ranks, guest: no},
		{name: "another context", conf: `(policy-deny "*" "spectate.access" "view" "no" () () () "mode" "summary")`, rights: view},
		{name: "this context", conf: `(policy-deny "*" "spectate.access" "view" "no" () () () "mode" "focus")`, rights: view, guest: no, mine: no},
		{name: "visibility", conf: `(def spectator-visibility 5)`, rights: view, guest: no, mine: no},
		{name: "visibility for the trusted", conf: `(def spectator-visibility 5) (policy-allow "id:112" "trust.tier" "*" 5)`, rights: view, guest: no},
		{name: "stats of anybody", rights: stats, about: friend},
		{name: "stats by tag", conf: `(policy-tag "id:9" "shy") (policy-deny "*" "stats.read" "player" "no" () () () "target.identity_tag" "shy")`, rights: stats, about: friend, guest: no, mine: no},
		{name: "terms", conf: `(def tos-text "be kind")`, rights: view, guest: terms, mine: terms},
		{name: "no terms for a look", conf: `(def tos-text "be kind")`, rights: look},
		{name: "a banned address", rights: look, ban: Target{Net: netip.MustParsePrefix("10.0.0.0/8")}, guest: banned, mine: banned},
		{name: "a banned identity", rights: look, ban: Target{Key: wamble.PublicKey{1, 112}}, mine: banned},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := beforeTheEnd(t, tc.conf, fools, []wamble.SessionID{11, 12, 11, 112})
			if !tc.ban.IsZero() {
				r.p.policy.Bans.Add(r.now, (&Ban{Whom: tc.ban}).access())
			}
			for token, want := range map[wamble.Token]string{{}: tc.guest,
				tokenOf(r.store.sessions[112].Token): tc.mine} {
				got := ""
				if d := r.p.Authorize(Reader{Token: token, From: netip.MustParseAddr("10.1.2.3"), About: tc.about},
					tc.rights); d != nil {
					if got = d.Reason; got == "" {
						got = no
					}
				}
				if got != want {
					t.Errorf("token %v: got %q, want %q", token, got, want)
				}
			}
		})
	}
}

// TestStoredReaders: a session that is not in memory is judged as the store has it; one that is there as it is.
func TestStoredReaders(t *testing.T) {
	r := newRig(t, "(def spectator-visibility 5)")
	token, _ := r.join(1)
	bad := wamble.PublicKey{1, 112}
	r.p.policy.Bans.Add(r.now, (&Ban{Whom: Target{Key: bad}}).access())
	view := []access.Right{{Action: "spectate.access", Resource: "view", Key: "mode", Value: "focus"}}
	for _, tc := range []struct {
		name   string
		token  wamble.Token
		stored wamble.Session
		want   string
	}{
		{"a trusted session", wamble.Token{9}, wamble.Session{ID: 40, Trust: 5}, ""},
		{"a banned identity", wamble.Token{9}, wamble.Session{ID: 40, Trust: 5, Key: bad}, "you are banned from this server"},
		{"none", wamble.Token{9}, wamble.Session{}, access.ErrDenied.Reason},
		{"one in memory", token, wamble.Session{ID: 40, Trust: 5}, access.ErrDenied.Reason},
	} {
		if got := r.p.Knows(tc.token); got != (tc.token == token) {
			t.Errorf("%s: in memory: %v", tc.name, got)
		}
		d, got := r.p.Authorize(Reader{Token: tc.token, Stored: &tc.stored}, view), ""
		if d != nil {
			got = d.Reason
		}
		if got != tc.want || (d != nil) != (tc.name == "a banned identity" || tc.stored.Trust == 0 || tc.token == token) {
			t.Errorf("%s: got %v, want %q", tc.name, d, tc.want)
		}
	}
}

// TestReadersAgree: a reader who has accepted the terms is admitted.
func TestReadersAgree(t *testing.T) {
	r := newRig(t, `(def tos-text "be kind")`)
	token, _ := r.join(1)
	view := []access.Right{{Action: "protocol.ctrl", Resource: "spectate_game"}}
	if d := r.p.Authorize(Reader{Token: token}, view); d == nil {
		t.Error("admitted before")
	}
	r.p.sessions.Find(token).SetTerms(session.RevisionOf(r.p.policy.Own.Terms.Hash), true)
	if d := r.p.Authorize(Reader{Token: token}, view); d != nil {
		t.Errorf("afterwards: %v", d)
	}
}

// TestReadersElsewhere: a token that is valid at one host makes readers at others guests.
func TestReadersElsewhere(t *testing.T) {
	r := newRig(t, "(def spectator-visibility 5)")
	token, _ := r.join(1)
	r.identified(token, wamble.PublicKey{7})
	s := r.p.sessions.Find(token)
	r.p.sessions.SetTrust(s.ID(), wamble.PublicKey{}, 5)
	r.p.sessions.BindToken(r.now, s, netip.MustParseAddr("192.0.2.7"), &r.p.frame)
	view := []access.Right{{Action: "spectate.access", Resource: "view", Key: "mode", Value: "focus"}}
	for from, want := range map[string]bool{"192.0.2.7": true, "192.0.2.8": false} {
		d := r.p.Authorize(Reader{Token: token, From: netip.MustParseAddr(from)}, view)
		if (d == nil) != want {
			t.Errorf("at %s: got %v", from, d)
		}
	}
}

func TestPeek(t *testing.T) {
	r := beforeTheEnd(t, "", fools, []wamble.SessionID{11, 12, 11, 112})
	if _, _, ok := r.p.Peek(99); ok {
		t.Error("there is no board 99")
	}
	b, durableIndex, ok := r.p.Peek(1)
	if !ok || durableIndex > r.p.Durable() || b.Status != wamble.Reserved || len(b.Moves) != 3 ||
		b.Moves[2].UCI != "g2g4" || b.Moves[2].Session != 11 || b.FEN != r.store.boards[1].FEN {
		t.Errorf("got %+v behind %d", b, durableIndex)
	}
	if h := b.Holder; h == nil || h.Session != 112 || h.Handle != "h_0112" || h.Bot {
		t.Errorf("it is held by %+v, want h_0112", h)
	}
	// Undurable changes are behind a durable index that has not been reached.
	r.stuck = true
	held := r.p.boards.Held(112)
	token := r.store.sessions[112].Token
	r.send(peerAt(112), movePacket(tokenOf(token), held.ID(), 2, "a7a6"))
	b, durableIndex, ok = r.p.Peek(1)
	if !ok || durableIndex <= r.p.Durable() || len(b.Moves) != 4 || b.Moves[3].Handle != "h_0112" {
		t.Errorf("before it is durable: got %+v behind %d of %d", b, durableIndex, r.p.Durable())
	}
	r.stuck = false
	r.settle()
	if durableIndex > r.p.Durable() {
		t.Errorf("index %d is not reached: %d", durableIndex, r.p.Durable())
	}
}

// TestPeekShowsWhoThinks: a board shows the player who holds it, and nobody while they are
// absent, though it is still theirs.
func TestPeekShowsWhoThinks(t *testing.T) {
	r := newRig(t, "(def min-boards 4) (def identity-away-timeout 600)")
	guest, guests := r.joinBy(streamAt(1))
	program, _ := r.botHello(2)
	known, first := r.joinBy(streamAt(3))
	r.identified(known, wamble.PublicKey{5})
	r.send(streamAt(3), movePacket(known, first, 3, "e2e4"))
	knowns := r.holding(known) // which the player with an identity holds
	i := r.p.sessions.Find(known)
	for _, tc := range []struct {
		board wamble.BoardID
		want  wamble.Reservation
	}{
		{guests, wamble.Reservation{Session: r.p.sessions.Find(guest).ID()}},
		{r.holding(program), wamble.Reservation{Session: r.p.sessions.Find(program).ID(), Bot: true}},
		{knowns, wamble.Reservation{Session: i.ID(), Key: wamble.PublicKey{5}, Handle: i.Identity().Handle()}},
	} {
		tc.want.Board, tc.want.Profile = tc.board, r.p.cfg.Name
		b, _, _ := r.p.Peek(tc.board)
		if b.Holder == nil || *b.Holder != tc.want {
			t.Errorf("board %d is held by %+v, want %+v", tc.board, b.Holder, tc.want)
		}
	}
	r.step(&PeerClosed{Peer: streamAt(3)})
	r.wait(16 * time.Second)
	if b, _, _ := r.p.Peek(knowns); b.Status != wamble.Reserved || b.Holder != nil {
		t.Errorf("who is gone thinks: %s, %+v", b.Status, b.Holder)
	}
}
