package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/wire"
)

// sessionsOf asks for a player's sessions, or revokes some, and returns the listed ones.
func (r *rig) sessionsOf(from wamble.Peer, packet []byte) string {
	r.t.Helper()
	r.step(&Packet{Peer: from, Data: packet})
	r.settle()
	r.answerLoads()
	for _, s := range r.sent {
		var p wire.Packet
		if err := p.Decode(s.packet); err != nil {
			r.t.Fatal(err)
		}
		m, ok := p.Message.(*wire.SessionsData)
		if !ok || s.to != from {
			continue
		}
		var rows []string
		for _, row := range m.Rows {
			text := fmt.Sprint(row.ID)
			if row.Own {
				text += " own"
			}
			rows = append(rows, text)
		}
		return strings.Join(rows, ", ")
	}
	return "nothing"
}

func revokePacket(token wamble.Token, seq uint32, which wamble.SessionID) []byte {
	return namePacket(wire.RevokeSessions{Session: wire.Uint64(which)}, token, seq)
}

// threeSessions is a rig with one identity in two sessions in memory, whose tokens it
// returns, and in a third one, 700, in the store alone.
func threeSessions(t *testing.T) (r *rig, one, two, cold wamble.Token) {
	r = newRig(t, "(def min-boards 3)")
	one, _ = r.join(1)
	two, _ = r.join(2)
	by := standardSigner(5)
	r.login(peerAt(1), one, 10, by)
	r.wait(time.Second)
	r.login(peerAt(2), two, 10, by)
	r.apply()
	cold = wamble.Token{7, 7}
	r.store.sessions[700] = &wamble.Session{ID: 700, Token: hashOf(cold), Key: by.key,
		Player: r.store.players[by.key].ID, Handle: "h_cold",
		Created: r.now.Add(-time.Hour), LastSeen: r.now.Add(-time.Minute)}
	r.store.created[hashOf(cold)] = r.store.sessions[700]
	r.sent = nil
	return r, one, two, cold
}

// TestListSessions: a player gets all sessions of their identity.
func TestListSessions(t *testing.T) {
	r, one, two, _ := threeSessions(t)
	if got, want := r.sessionsOf(peerAt(1), namePacket(wire.GetSessions{}, one, 20)), "1 own, 2, 700"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := r.sessionsOf(peerAt(2), namePacket(wire.GetSessions{}, two, 20)), "2 own, 1, 700"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	alone, _ := r.join(3)
	r.sent = nil
	if got, want := r.sessionsOf(peerAt(3), namePacket(wire.GetSessions{}, alone, 20)), "3 own"; got != want {
		t.Errorf("without an identity: got %s, want %s", got, want)
	}
	r.sent = nil
	expect(t, r.send(peerAt(3), revokePacket(alone, 21, 1)), "ACK 21", `ERROR 1001 "log in first"`)
}

// TestRevoke: a revoked session ends at once, in whichever profile it is, and in the store.
func TestRevoke(t *testing.T) {
	for _, tc := range []struct {
		name      string
		which     wamble.SessionID
		left      string
		two, cold bool // are good afterwards
		told      string
		ownIsGood bool
	}{
		{"one in memory", 2, "1 own, 700", false, true, "6 this session was ended from another one of yours", true},
		{"one in the store", 700, "1 own, 2", true, false, "", true},
		{"all others", 0, "1 own", false, false, "6 this session was ended from another one of yours", true},
		{"nobody's", 99, "1 own, 2, 700", true, true, "", true},
		{"their own", 1, "", true, true, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, one, two, cold := threeSessions(t)
			if got := r.sessionsOf(peerAt(1), revokePacket(one, 20, tc.which)); got != tc.left {
				t.Errorf("left are %s, want %s", got, tc.left)
			}
			if told := r.notices()[peerAt(2)]; told != tc.told {
				t.Errorf("the other one was told %q, want %q", told, tc.told)
			}
			seq := uint32(100)
			check := func(when string) {
				t.Helper()
				for name, c := range map[string]struct {
					token wamble.Token
					want  bool
				}{"own": {one, tc.ownIsGood}, "two": {two, tc.two}, "cold": {cold, tc.cold}} {
					seq++
					r.step(&Packet{Peer: peerAt(9), Data: namePacket(wire.GetSessions{}, c.token, seq)})
					r.settle()
					r.answerLoads()
					if got := r.p.sessions.Find(c.token) != nil; got != c.want {
						t.Errorf("%s, %s: the token is good: %v, want %v", when, name, got, c.want)
					}
				}
			}
			check("before the store has it")
			r.apply()
			check("after")
			for id, want := range map[wamble.SessionID]bool{1: tc.ownIsGood, 2: tc.two, 700: tc.cold} {
				if got := !r.store.sessions[id].Token.IsZero(); got != want {
					t.Errorf("the store keeps the token of %d: %v, want %v", id, got, want)
				}
			}
		})
	}
}

// TestRevokeByHost: the host may end one session of a player, or all.
func TestRevokeByHost(t *testing.T) {
	for which, want := range map[wamble.SessionID]uint64{2: 1, 700: 1, 0: 3, 99: 0} {
		r, _, _, _ := threeSessions(t)
		key := standardSigner(5).key
		r.step(&Revoke{Key: key, Session: which,
			Stored: []wamble.Session{*r.store.sessions[1], *r.store.sessions[2], *r.store.sessions[700]}})
		if got := r.p.Stats().Host.Revoked; got != want {
			t.Errorf("%d: %d sessions ended, want %d", which, got, want)
		}
		got := r.intents()
		if in, ok := got[len(got)-1].(*intent.RevokeSessions); !ok || in.Key != key || in.Session != which ||
			in.Others != (which == 0) {
			t.Errorf("%d: got %+v", which, got[len(got)-1])
		}
	}
}
