package profile

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"wamble"
)

// unlimited turns off the limits of package link.
const unlimited = `(def min-boards 4) (def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0) (def new-players-per-ip-per-min 0) (def max-client-sessions 100000)
`

// invented returns a token without a session.
func invented(n int) (token wamble.Token) {
	binary.BigEndian.PutUint32(token[:], uint32(n)+1)
	token[15] = 0xaa
	return token
}

// TestUnknownTokenIsRemembered: a token that the store does not have, or could not look for,
// costs one load in half a second; one that it has is found afterwards.
func TestUnknownTokenIsRemembered(t *testing.T) {
	for outcome, want := range map[Outcome]string{
		NotFound: `ERROR 1007 "unknown player"`, Away: `ERROR 1006 "database away"`,
		Broken: `ERROR 1006 "database error"`,
	} {
		r, from := newRig(t, unlimited), wamble.Peer{Addr: peerAt(1).Addr, Route: 1}
		stored := r.store.enlist(500, 1200, epoch)
		for i := range uint32(10) {
			r.step(&Packet{Peer: from, Data: legalPacket(tokenOf(stored.Token), 1, i+1, 12)})
			for ; len(r.loads) > 0; r.loads = nil {
				r.step(r.store.answerAs(r.loads[0], outcome))
			}
			if got := r.took(); !strings.Contains(got, want) {
				t.Fatalf("outcome %d, request %d: got %s, want %s", outcome, i, got, want)
			}
		}
		if got := r.p.Stats().Loads; got != 1 {
			t.Errorf("outcome %d: %d loads, want 1", outcome, got)
		}
		r.now = r.now.Add(unknownTokenTTL)
		r.step(&Packet{Peer: from, Data: legalPacket(tokenOf(stored.Token), 1, 11, 12)})
		r.answerLoads()
		if r.p.sessions.Find(tokenOf(stored.Token)) == nil {
			t.Errorf("outcome %d: the player is not found after %v", outcome, unknownTokenTTL)
		}
	}
}

// TestUnknownTokensAreFew: the memory of unknown tokens is bounded.
func TestUnknownTokensAreFew(t *testing.T) {
	r := newRig(t, unlimited)
	for i := range 10 * maxUnknownTokens {
		r.step(&Packet{Peer: peerAt(i + 1), Data: legalPacket(invented(i), 1, 1, 12)})
		r.answerLoads()
		r.now = r.now.Add(100 * time.Millisecond)
	}
	if got := r.p.unknownTokens.tokens.Len(); got != maxUnknownTokens {
		t.Errorf("%d unknown tokens are remembered, want %d", got, maxUnknownTokens)
	}
}

// TestLoadsAreFair: while the store is slow, invented tokens from one host or from many leave
// capacity for players, and for those who return.
func TestLoadsAreFair(t *testing.T) {
	packets := map[string]func(n int) []byte{
		"legal moves": func(n int) []byte { return legalPacket(invented(n), 1, uint32(n)+1, 12) },
		"hellos":      func(n int) []byte { return helloPacket(invented(n), uint32(n)+1) },
	}
	for name, flood := range packets {
		for _, hosts := range []int{1, 3000} {
			r := newRig(t, unlimited)
			token, _ := r.join(5000)
			for n := range 3000 {
				r.step(&Packet{Peer: peerAt(10 + n%hosts), Data: flood(n)})
			}
			before := r.p.Stats().Loads
			stored := r.store.enlist(500, 1200, epoch).Token
			asks := func(what string, from wamble.Peer, packet []byte) {
				t.Helper()
				r.step(&Packet{Peer: from, Data: packet})
				if r.p.Stats().Loads == before {
					t.Errorf("%s of %d hosts: %s is refused: %s", name, hosts, what, r.took())
				}
				before = r.p.Stats().Loads
			}
			asks("the leaderboard of a player", peerAt(5000), ranksPacket(token, 2, 1, 16))
			asks("who returns by WebSocket", wamble.Peer{Addr: peerAt(6000).Addr, Route: 9},
				helloPacket(tokenOf(stored), 1))
			if name != "hellos" || hosts == 1 {
				asks("who returns by UDP", peerAt(6001), helloPacket(wamble.Token{8}, 1))
			}
			r.answerLoads()
			if n := len(r.p.loads.byHost) + len(r.p.loads.byID) + len(r.p.loads.byToken); n != 0 {
				t.Errorf("%s: %d entries are left of loads that have ended", name, n)
			}
		}
	}
}

// TestInventedTokensCostFewQueries: 20,000 legal-move requests in a second with invented
// tokens, from one host or from as many as there are packets, cost a bounded number of
// queries. Players who return meanwhile are served, even from the same host, and any number
// at once; when it is over nothing of it is kept.
func TestInventedTokensCostFewQueries(t *testing.T) {
	const flood = 20000
	for _, tc := range []struct{ hosts, most int }{{1, 64 + 16 + 1}, {flood, 256 + 256 + 1}} {
		r := newRig(t, unlimited+"(def max-players 10000)")
		token, board := r.join(60000)
		players, id := 0, wamble.SessionID(1000)
		returns := func(what string, from int, packet func(wamble.Token, uint32) []byte) {
			t.Helper()
			stored := r.store.enlist(id, 1200, r.now).Token
			id++
			players++
			r.step(&Packet{Peer: peerAt(from), Data: packet(tokenOf(stored), uint32(id))})
			r.answerLoads()
			if r.p.sessions.Find(tokenOf(stored)) == nil {
				t.Fatalf("%d hosts: %s: a returning player is refused: %s", tc.hosts, what, r.took())
			}
			r.sent = nil
		}
		before := r.p.Stats().Loads
		for n := range flood {
			r.step(&Packet{Peer: peerAt(1 + n%tc.hosts), Data: legalPacket(invented(n), 1, uint32(n)+1, 12)})
			r.answerLoads()
			r.sent = nil
			if n%1000 == 999 {
				returns("during the flood", 50000+n, helloPacket)
				returns("from the host of the flood", 1, helloPacket)
				if got := r.send(peerAt(60000), legalPacket(token, board, uint32(n), 12)); !strings.Contains(got,
					"LEGAL_MOVES") {
					t.Errorf("a player got %s", got)
				}
			}
			r.now = r.now.Add(time.Second / flood)
		}
		if got := int(r.p.Stats().Loads-before) - players; got > tc.most || got < tc.most/2 {
			t.Errorf("%d requests of %d hosts cost %d queries, want at most %d", flood, tc.hosts, got, tc.most)
		}
		if n := r.p.unknownTokens.hosts.Len(); n > maxHosts {
			t.Errorf("%d hosts are remembered, want at most %d", n, maxHosts)
		}
		for range 500 {
			returns("many of one host at once", 70000, helloPacket)
		}
		r.now = r.now.Add(5 * time.Second)
		returns("after the flood", 1,
			func(token wamble.Token, seq uint32) []byte { return legalPacket(token, 1, seq, 12) })
	}
}

// TestRefusedUnknownTokenIsForgotten: a host that has sent too many unknown tokens is refused
// once a second, without an ACK, so that the same request is new when it is repeated later.
func TestRefusedUnknownTokenIsForgotten(t *testing.T) {
	r := newRig(t, unlimited)
	for n := range 100 {
		r.step(&Packet{Peer: peerAt(1), Data: legalPacket(invented(n), 1, uint32(n)+1, 12)})
		r.answerLoads()
	}
	r.now = r.now.Add(warnEvery / 2)
	for range ofHost.Burst {
		r.p.unknownTokens.add(r.p.clock.since, wamble.Token{1}, NotFound,
			requester{host: wamble.HostOf(peerAt(1).IP())})
	}
	r.now = r.now.Add(warnEvery / 2)
	r.took()
	stored := r.store.enlist(500, 1200, epoch).Token
	packet := legalPacket(tokenOf(stored), 1, 500, 12)
	expect(t, r.send(peerAt(1), packet), `ERROR 1006 "too many requests wait for the database" unreliable`)
	expect(t, r.send(peerAt(1), packet), "")
	r.now = r.now.Add(time.Duration(ofHost.Burst+1) * time.Second / time.Duration(ofHost.Rate))
	r.send(peerAt(1), packet)
	r.answerLoads()
	if r.p.sessions.Find(tokenOf(stored)) == nil {
		t.Errorf("the repetition is not looked up: %s", r.took())
	}
}
