package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// asks sends one packet, answers the loads from the store, and returns the answers, in words.
func (r *rig) asks(from wamble.Peer, b []byte) string {
	r.t.Helper()
	got := r.send(from, b)
	if len(r.loads) > 0 {
		r.answerLoads()
		got = strings.TrimPrefix(got+"\n"+r.took(), "\n")
	}
	return got
}

// joined returns the text of a transfer in fragments that answers b, and its
// fields.
func (r *rig) joined(from wamble.Peer, token wamble.Token, b []byte) *wire.Packet {
	r.t.Helper()
	r.step(&Packet{Peer: from, Data: b})
	r.settle()
	r.answerLoads()
	var join wire.Reassembler
	for range 100 {
		sent := r.sent
		r.sent = nil
		for _, s := range sent {
			var p wire.Packet
			if err := p.Decode(s.packet); err != nil {
				r.t.Fatal(err)
			}
			if p.Ctrl == wire.CtrlAck {
				continue
			}
			f, ok := p.Message.(*wire.Fragment)
			if !ok {
				r.t.Fatalf("got %s, want a fragment", inWords(r.t, s.packet))
			}
			whole, err := join.Add(p.Ctrl, f)
			if err != nil {
				r.t.Fatal(err)
			}
			if whole != nil {
				var all wire.Packet
				if err := all.DecodePayload(p.Header, whole); err != nil {
					r.t.Fatal(err)
				}
				r.send(from, ackPacket(token, p.Seq))
				return &all
			}
			r.step(&Packet{Peer: from, Data: ackPacket(token, p.Seq)})
		}
	}
	r.t.Fatal("the transfer has no end")
	return nil
}

// streamAt is a client over WebSocket: its address needs no proof.
func streamAt(n int) wamble.Peer {
	p := peerAt(n)
	p.Route = uint32(n)
	return p
}

func statsPacket(token wamble.Token, seq uint32, fields ...wire.Field) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.GetPlayerStats{}, fields...)
}

const statsKeys = " stats.target_session_id stats.target_has_identity stats.target_handle"

func TestStats(t *testing.T) {
	alice, bob := wamble.PublicKey{1}, wamble.PublicKey{2}
	self := wamble.Token{0xdd, 0xbc, 0x02} // session 700, anonymous
	id := wire.Int(wire.KeyStatsRequestID, 9)
	handle := func(s string) wire.Field { return wire.String(wire.KeyStatsTargetHandle, s) }
	session := func(n int64) wire.Field { return wire.Int(wire.KeyStatsTargetSession, n) }
	for _, tc := range []struct {
		name, conf string
		token      wamble.Token
		fields     []wire.Field
		prepare    func(r *rig)
		want       string
	}{
		{"oneself", "", self, nil, nil, "PLAYER_STATS_DATA 3.5 4 1" + statsKeys},
		{"a number is echoed", "", self, []wire.Field{id}, nil, "PLAYER_STATS_DATA 3.5 4 1 stats.request_id" + statsKeys},
		{"a number below 1 is not", "", self, []wire.Field{wire.Int(wire.KeyStatsRequestID, -1)}, nil, "PLAYER_STATS_DATA 3.5 4 1" + statsKeys},
		{"an identity has those of all its sessions", "", self, []wire.Field{handle("h_0500")}, nil, "PLAYER_STATS_DATA 9 4 0" + statsKeys},
		{"by session", "", self, []wire.Field{session(501)}, nil, "PLAYER_STATS_DATA 9 4 0" + statsKeys},
		{"the session goes before the handle", "", self, []wire.Field{handle("h_0600"), session(501)}, nil, "PLAYER_STATS_DATA 9 4 0" + statsKeys},
		{"an anonymous session", "", self, []wire.Field{session(701)}, nil, "PLAYER_STATS_DATA 1 1 0" + statsKeys},
		{"bad handle", "", self, []wire.Field{id, handle("h 0500")}, nil, `ERROR 1001 "invalid stats handle" stats.request_id`},
		{"short handle", "", self, []wire.Field{handle("h_")}, nil, `ERROR 1001 "invalid stats handle"`},
		{"unknown handle", "", self, []wire.Field{id, handle("h_9999")}, nil, `ERROR 1007 "unknown stats handle" stats.request_id`},
		{"an identity without a session", "", self, []wire.Field{id, handle("h_0600")}, nil, `ERROR 1007 "no session for stats target" stats.request_id`},
		{"by key", "", self, []wire.Field{id, wire.String(wire.KeyStatsTargetPublicKey, "00")}, nil, `ERROR 1001 "stats public key target denied" stats.request_id`},
		{"unknown session", "", self, []wire.Field{id, session(9999)}, nil, `ERROR 1014 "stats lookup failed" stats.request_id`},
		{"unknown asker", "", wamble.Token{8}, []wire.Field{id}, nil, `ERROR 1007 "requester session not found" stats.request_id error.blocking`},
		{"the policy", `(policy-deny "*" "stats.read" "player")`, self, []wire.Field{id}, nil, `ERROR 1001 "stats read denied" stats.request_id`},
		{"the request itself", `(policy-deny "*" "protocol.ctrl" "get_player_stats")`, self, nil, nil, `ERROR 1001 ""`},
		{"a tag of the target", `(policy-tag "id:500" "shy") (policy-deny "*" "stats.read" "player" "" "" () () "target.identity_tag" "shy")`,
			self, []wire.Field{handle("h_0500")}, nil, `ERROR 1001 "stats read denied"`},
		{"without the tag", `(policy-tag "id:500" "shy") (policy-deny "*" "stats.read" "player" "" "" () () "target.identity_tag" "shy")`,
			self, []wire.Field{session(701)}, nil, "PLAYER_STATS_DATA 1 1 0" + statsKeys},
		{"only those without tags",
			`(policy-allow "*" "stats.read" "player" 0 "" "" () () "target.identity_tag" "none") (policy-deny "*" "stats.read" "player")`,
			self, []wire.Field{session(701)}, nil, "PLAYER_STATS_DATA 1 1 0" + statsKeys},
		{"the database is away", "", self, []wire.Field{session(501)}, func(r *rig) { r.store.away = true }, `ERROR 1006 "database away"`},
		{"the database is broken", "", self, []wire.Field{session(501)}, func(r *rig) { r.store.broken = true }, `ERROR 1014 "stats lookup failed"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2) "+tc.conf)
			r.store.stored(500, alice, wamble.Stats{Score: 7, Games: 3}, epoch)
			r.store.stored(501, alice, wamble.Stats{Score: 2, Games: 1}, epoch)
			r.store.stored(600, bob, wamble.Stats{}, epoch)
			delete(r.store.sessions, 600)
			r.store.stored(700, wamble.PublicKey{}, wamble.Stats{Score: 3.5, Games: 4, Chess960Games: 1}, epoch)
			r.store.stored(701, wamble.PublicKey{}, wamble.Stats{Score: 1, Games: 1}, epoch)
			r.asks(peerAt(1), helloPacket(self, 1))
			r.send(peerAt(1), ackPacket(self, 1))
			if tc.prepare != nil {
				tc.prepare(r)
			}
			expect(t, r.asks(peerAt(1), statsPacket(tc.token, 2, tc.fields...)), "ACK 2", tc.want)
		})
	}
}

// TestStatsFields: the values of the fields, for a player in memory.
func TestStatsFields(t *testing.T) {
	r := newRig(t, "(def min-boards 3)")
	token, _ := r.join(1)
	r.login(peerAt(1), token, 2, standardSigner(1))
	i := r.p.sessions.Find(token).Identity()
	other, _ := r.join(2)
	r.step(&Packet{Peer: peerAt(2), Data: statsPacket(other, 2,
		wire.Int(wire.KeyStatsTargetSession, int64(r.p.sessions.Find(token).ID())))})
	r.sent = nil
	r.answerLoads()
	var p wire.Packet
	if err := p.Decode(r.sent[len(r.sent)-1].packet); err != nil {
		t.Fatal(err)
	}
	id, _ := p.Ext.Int(wire.KeyStatsTargetSession)
	has, _ := p.Ext.Int(wire.KeyStatsTargetHasIdentity)
	if handle, _ := p.Ext.Text(wire.KeyStatsTargetHandle); id != int64(r.p.sessions.Find(token).ID()) || has != 1 ||
		handle != i.Handle() {
		t.Errorf("got session %d, identity %d, handle %q", id, has, handle)
	}
}

func ranksPacket(token wamble.Token, seq uint32, order, limit uint8, fields ...wire.Field) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.GetLeaderboard{Order: order, Limit: limit}, fields...)
}

func TestLeaderboard(t *testing.T) {
	page := func(n int64) []wire.Field { return []wire.Field{wire.Int(wire.KeyLeaderboardPageIndex, n)} }
	const keys = " leaderboard.total_count leaderboard.page_index leaderboard.page_size"
	const selfKeys = " leaderboard.self.rank leaderboard.self.session_id leaderboard.self.score leaderboard.self.rating leaderboard.self.games_played leaderboard.self.has_identity"
	self := wamble.Token{0xdd, 0xbc, 0x02} // session 700
	for _, tc := range []struct {
		name, conf   string
		token        wamble.Token
		order, limit uint8
		fields       []wire.Field
		prepare      func(r *rig)
		want         string
	}{
		{"by score", "", self, 1, 2, nil, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500] [2: 701 5 0 1 ]" + keys + selfKeys},
		{"by rating", "", self, 2, 1, nil, nil, "LEADERBOARD_DATA 2 self 3 [1: 500 9 1500 3 h_0500]" + keys + selfKeys},
		{"an unknown order is by score", "", self, 77, 1, nil, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500]" + keys + selfKeys},
		{"the second page", "", self, 1, 2, page(1), nil, "LEADERBOARD_DATA 1 self 3 [3: 700 3 0 4 ] [4: 501 1 1200 1 h_0501]" + keys},
		{"a page before the first", "", self, 1, 1, page(-5), nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500]" + keys + selfKeys},
		{"a page that is far away", "", self, 1, 16, page(1 << 62), nil, "LEADERBOARD_DATA 1 self 3" + keys + selfKeys},
		{"no limit is 10", "", self, 1, 0, nil, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500] [2: 701 5 0 1 ] [3: 700 3 0 4 ] [4: 501 1 1200 1 h_0501]" + keys},
		{"this month", "", self, 2, 1, []wire.Field{wire.Int(wire.KeyLeaderboardSeason, 1)}, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500]" + keys + " leaderboard.season" + selfKeys},
		{"another month", "", self, 1, 1, []wire.Field{wire.Int(wire.KeyLeaderboardSeason, 202601)}, nil, "LEADERBOARD_DATA 1 self 1" + keys + " leaderboard.season" + selfKeys},
		{"teams", `(def team-season 1)`, self, 2, 2, []wire.Field{wire.Int(wire.KeyLeaderboardSeason, 1)}, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500] [2: 701 5 0 1 ]" + keys + " leaderboard.season" + selfKeys + " leaderboard.teams"},
		{"no teams at all times", `(def team-season 1)`, self, 1, 1, nil, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500]" + keys + selfKeys},
		{"no seasons", `(def season "off")`, self, 1, 1, []wire.Field{wire.Int(wire.KeyLeaderboardSeason, 1)}, nil, "LEADERBOARD_DATA 1 self 3 [1: 500 9 1500 3 h_0500]" + keys + selfKeys},
		{"the policy", `(policy-deny "*" "leaderboard.read" "global")`, self, 1, 1, nil, nil, `ERROR 1001 ""`},
		{"unknown asker", "", wamble.Token{8}, 1, 1, nil, nil, `ERROR 1007 "requester session not found" error.blocking`},
		{"the database is away", "", self, 1, 1, nil, func(r *rig) { r.store.away = true }, `ERROR 1006 "database away"`},
		{"the database is broken", "", self, 1, 1, nil, func(r *rig) { r.store.broken = true }, `ERROR 1012 "leaderboard query failed"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2) "+tc.conf)
			r.store.stored(500, wamble.PublicKey{1}, wamble.Stats{Score: 9, Games: 3}, epoch)
			r.store.players[wamble.PublicKey{1}].Stats.Rating = 1500
			r.store.stored(501, wamble.PublicKey{2}, wamble.Stats{Score: 1, Games: 1}, epoch)
			r.store.stored(700, wamble.PublicKey{}, wamble.Stats{Score: 3, Games: 4}, epoch)
			r.store.stored(701, wamble.PublicKey{}, wamble.Stats{Score: 5, Games: 1}, epoch)
			// With a key of ours, so that no field is left out.
			r.asks(peerAt(1), encode(wire.Header{Token: self, Seq: 1}, wire.ClientHello{},
				wire.Int(wire.KeyHelloWithoutBoard, 0)))
			r.send(peerAt(1), ackPacket(self, 1))
			if tc.prepare != nil {
				tc.prepare(r)
			}
			expect(t, r.asks(peerAt(1), ranksPacket(tc.token, 2, tc.order, tc.limit, tc.fields...)), "ACK 2", tc.want)
		})
	}
}

// TestTeams: a player's team depends on their number and the month, a guest's on the number
// of their session.
func TestTeams(t *testing.T) {
	ranks := &wamble.Leaderboard{Teams: [2]float64{120.5, 98.25},
		Rows: []wamble.LeaderboardRow{{Who: 4}, {Who: 7}, {Who: -7}}}
	for _, tc := range []struct {
		who    int64
		season int
		want   string
	}{
		{4, 202611, "w 120.5 98.25 wbb"}, {7, 202611, "b 120.5 98.25 wbb"}, {4, 202612, "b 120.5 98.25 bbb"}, {-9, 202612, "w 120.5 98.25 bbb"},
	} {
		if got := teamsText(tc.who, tc.season, ranks); got != tc.want {
			t.Errorf("%d in %d: got %q, want %q", tc.who, tc.season, got, tc.want)
		}
	}
}

// TestLeaderboardIsKept: a second look within half a second does not cost a query.
func TestLeaderboardIsKept(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	token, _ := r.join(1)
	r.asks(peerAt(1), ranksPacket(token, 2, 1, 5))
	before := r.p.Stats().Loads
	for seq := uint32(3); seq < 6; seq++ {
		if got := r.send(peerAt(1), ranksPacket(token, seq, 1, 5)); !strings.Contains(got, "LEADERBOARD_DATA") {
			t.Fatalf("got %s", got)
		}
	}
	if n := r.p.Stats().Loads; n != before {
		t.Errorf("%d loads more", n-before)
	}
	r.now = r.now.Add(cachedAnswerTTL)
	if r.send(peerAt(1), ranksPacket(token, 6, 1, 5)); len(r.loads) != 1 {
		t.Error("an old page was shown")
	}
}

// TestLeaderboardFragments: a page that is too long for a packet.
func TestLeaderboardFragments(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	for id := wamble.SessionID(500); id < 516; id++ {
		r.store.stored(id, wamble.PublicKey{byte(id)}, wamble.Stats{Score: float64(id)}, epoch)
	}
	token, _ := r.join(1)
	p := r.joined(peerAt(1), token, ranksPacket(token, 2, 1, 200))
	m := p.Message.(*wire.LeaderboardData)
	if size, _ := p.Ext.Int(wire.KeyLeaderboardPageSize); len(m.Rows) != wire.MaxRows || size != wire.MaxRows ||
		m.Rows[0].Session != 515 {
		t.Errorf("got %d rows of %d, the first %d", len(m.Rows), size, m.Rows[0].Session)
	}
}

// profilesConf configures a server of several profiles. The one under test is "own".
const profilesConf = `
(def min-boards 2) (def reservation-timeout 60)
(defprofile own ((def port 1001) (def advertise 1) (def tos-text "be kind") (def profile-group "inner")))
(defprofile open ((def port 1002) (def advertise 1) (def websocket-enabled 0) (def http-port -1)))
(defprofile high ((def port 1003) (def advertise 1) (def visibility 5) (def tos-text "higher terms")))
(defprofile shut ((def port 1004) (def advertise 1) (def policy-default "deny") (def websocket-path "/w")))
(defprofile secret ((def port 1005) (def profile-group "inner")))
`

// housed is a rig of the profile "own" of profilesConf, with rules.
func housed(t *testing.T, rules string) *rig {
	t.Helper()
	c, err := config.Load("test.conf", profilesConf+`(def prediction-mode "off") `+rules, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: c.Profile("own"), Seed: [32]byte{1, 2, 3}, Now: epoch, LeaseSize: 1000}
	r.p = New(r.options)
	r.boot()
	return r
}

func namePacket[M wire.Message](m M, token wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, m)
}

func TestListProfiles(t *testing.T) {
	trusted := wamble.Token{0xdd, 0xf4, 0x01} // session 500, of identity 500, trust 5
	for _, tc := range []struct {
		name, rules string
		token       wamble.Token
		want        string
	}{
		{"a guest", "", wamble.Token{}, "open,own,shut"},
		{"an unknown token is a guest", "", wamble.Token{9}, "open,own,shut"},
		{"trust of the database", "", trusted, "high,open,own,shut"},
		{"a rule replaces it", `(policy-allow "id:500" "trust.tier" "*" 2)`, trusted, "open,own,shut"},
		{"a rule for one profile", `(policy-allow "*" "trust.tier" "profile:high" 5)`, wamble.Token{}, "high,open,own,shut"},
		{"a denied tier is none", `(policy-deny "*" "trust.tier" "*")`, trusted, "open,own,shut"},
		{"an override shows what is not advertised", `(policy-allow "id:500" "profile.discover.override" "profile:secret" 0)`, trusted, "high,open,own,secret,shut"},
		{"not to others", `(policy-allow "id:500" "profile.discover.override" "profile:secret" 0)`, wamble.Token{}, "open,own,shut"},
		{"an override hides", `(policy-deny "*" "profile.discover.override" "profile:open")`, wamble.Token{}, "own,shut"},
		{"by group", `(policy-deny "*" "profile.discover.override" "profile_selector:inner")`, wamble.Token{}, "open,shut"},
		{"the name goes before the group, and any comes last",
			`(policy-allow "*" "profile.discover.override" "profile:own" 0) (policy-deny "*" "profile.discover.override" "profile_selector:inner") (policy-deny "*" "profile.discover.override" "*")`,
			wamble.Token{}, "own"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := housed(t, tc.rules)
			r.store.stored(500, wamble.PublicKey{1}, wamble.Stats{}, epoch).Trust = 5
			expect(t, r.asks(peerAt(1), namePacket(wire.ListProfiles{}, tc.token, 1)), "ACK 1",
				"PROFILES_LIST "+tc.want)
		})
	}
	r := housed(t, `(policy-deny "*" "protocol.ctrl" "list_profiles")`)
	expect(t, r.asks(peerAt(1), namePacket(wire.ListProfiles{}, wamble.Token{}, 1)), "ACK 1", `ERROR 1001 ""`)
	r = newRig(t, "")
	expect(t, r.asks(peerAt(1), namePacket(wire.ListProfiles{}, wamble.Token{}, 1)), "ACK 1", "PROFILES_LIST default")
}

func TestProfileInfo(t *testing.T) {
	trusted := wamble.Token{0xdd, 0xf4, 0x01}
	for _, tc := range []struct {
		name, rules string
		token       wamble.Token
		of          string
		want        string
		fields      string // caps, tos available, accepted, port, path, timeout
	}{
		{"own", "", wamble.Token{}, "own", "own;1001;1;0", "3 1 0 1001 /ws 60"},
		{"without WebSocket and terms", "", wamble.Token{}, "open", "open;1002;1;0", "1 0 1 0  60"},
		{"closed", "", wamble.Token{}, "shut", "shut;1004;1;0", "0 0 1 1004 /w 60"},
		{"with trust", "", trusted, "high", "high;1003;1;5", "3 1 0 1003 /ws 60"},
		{"accepted elsewhere", "", trusted, "own", "own;1001;1;0", "3 1 1 1001 /ws 60"},
		{"hidden", "", wamble.Token{}, "high", "NOTFOUND;high", ""},
		{"not running", "", trusted, "secret", "NOTFOUND;secret", ""},
		{"missing", "", wamble.Token{}, "nowhere", "NOTFOUND;nowhere", ""},
		{"no name", "", wamble.Token{}, "", "NOTFOUND;", ""},
		{"a long name", "", wamble.Token{}, strings.Repeat("x", 200), "NOTFOUND;" + strings.Repeat("x", 80), ""},
		{"the own one, hidden", `(policy-deny "*" "profile.discover.override" "profile:own")`, wamble.Token{}, "own", "NOTFOUND;own", ""},
		{"terms that may not be read", `(policy-deny "*" "protocol.ctrl" "get_profile_tos")`, wamble.Token{}, "own", "own;1001;1;0", "1 1 0 1001 /ws 60"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := housed(t, tc.rules)
			r.store.stored(500, wamble.PublicKey{1}, wamble.Stats{}, epoch).Trust = 5
			r.store.terms = append(r.store.terms, accepted{500, "own", blake2b.Sum256([]byte("be kind"))})
			r.step(&Packet{Peer: peerAt(1), Data: namePacket(wire.GetProfileInfo{Name: wire.Text(tc.of)}, tc.token, 1)})
			r.settle()
			r.answerLoads()
			var p wire.Packet
			if err := p.Decode(r.sent[len(r.sent)-1].packet); err != nil {
				t.Fatal(err)
			}
			if got := p.Message.(*wire.ProfileInfo).Info.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			number := func(key string) int64 { v, _ := p.Ext.Int(key); return v }
			path, _ := p.Ext.Text(wire.KeyProfileWebSocketPath)
			got := fmt.Sprint(number(wire.KeyProfileCaps), number(wire.KeyProfileTOSAvailable),
				number(wire.KeyProfileTOSAccepted),
				number(wire.KeyProfileWebSocketPort)) + " " + path + " " +
				fmt.Sprint(number(wire.KeyProfileReserveTimeout))
			if len(p.Ext) == 0 {
				got = ""
			}
			if got != tc.fields {
				t.Errorf("got fields %q, want %q", got, tc.fields)
			}
		})
	}
}

func TestReadTerms(t *testing.T) {
	for _, tc := range []struct{ name, of, want, profile string }{
		{"own, without a name", "", "be kind", "own"},
		{"own", "own", "be kind", "own"},
		{"none", "open", "", "open"},
		{"hidden", "high", "NOTFOUND;high", "high"},
		{"missing", "nowhere", "NOTFOUND;nowhere", "nowhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := housed(t, "")
			token, _ := r.join(1)
			p := r.joined(peerAt(1), token, namePacket(wire.GetProfileTOS{Name: wire.Text(tc.of)}, token, 2))
			if got := p.Message.(*wire.ProfileTOSData).Terms.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			name, _ := p.Ext.Text(wire.KeyProfileName)
			if seq, _ := p.Ext.Int(wire.KeyRequestSeq); name != tc.profile || seq != 2 {
				t.Errorf("got profile %q, number %d", name, seq)
			}
		})
	}
	// Even a hidden profile shows its own terms, also to an unknown token.
	r := housed(t, `(policy-deny "*" "profile.discover.override" "profile:own")`)
	p := r.joined(streamAt(1), wamble.Token{9}, namePacket(wire.GetProfileTOS{}, wamble.Token{9}, 2))
	if got := p.Message.(*wire.ProfileTOSData).Terms.String(); got != "be kind" {
		t.Errorf("got %q", got)
	}
}

// TestTermsGate: requests that need the terms are refused until they are accepted, and again
// when their text changes; the others are not.
func TestTermsGate(t *testing.T) {
	r := housed(t, "")
	token, id := r.join(1)
	hello := func(seq uint32) int64 {
		t.Helper()
		r.step(&Packet{Peer: peerAt(1), Data: helloPacket(token, seq)})
		r.settle()
		r.answerLoads()
		var p wire.Packet
		if err := p.Decode(r.sent[len(r.sent)-1].packet); err != nil || p.Ctrl != wire.CtrlServerHello {
			t.Fatalf("got %v, %v", p.Ctrl, err)
		}
		r.sent = nil
		caps, _ := p.Ext.Int(wire.KeySessionCaps)
		return caps
	}
	if caps := hello(2); caps != 0 {
		t.Errorf("got caps %03x before the terms are accepted, want 0", caps)
	}
	gated := func(seq uint32) {
		t.Helper()
		for _, row := range routes {
			if !row.terms {
				continue
			}
			seq++
			expect(t, r.asks(peerAt(1), minimal(t, row.ctrl, token, seq)), "ACK "+itoa(seq),
				`ERROR 1001 "terms acceptance required"`)
		}
	}
	gated(10)
	accept := func(seq uint32) string {
		return r.asks(peerAt(1), namePacket(wire.AcceptProfileTOS{}, token, seq))
	}
	want := "PROFILE_INFO own;1001;1;0 board " + itoa(uint32(id)) +
		" profile.caps profile.tos_available profile.tos_accepted profile.websocket_port profile.websocket_path profile.reservation_timeout session.caps reservation.reserved_at"
	expect(t, accept(30), "ACK 30", want)
	if caps := hello(31); caps != int64(r.p.caps(nil)) {
		t.Errorf("got caps %03x, want %03x", caps, r.p.caps(nil))
	}
	expect(t, accept(32), "ACK 32", want)
	r.apply()
	if n := len(r.store.terms); n != 1 {
		t.Errorf("%d acceptances are stored, want 1", n)
	}
	if got := r.asks(peerAt(1), legalPacket(token, id, 33, 12)); !strings.Contains(got, "LEGAL_MOVES") {
		t.Errorf("got %s", got)
	}
	// After a restart the acceptance is in the store, whether the session came with a board
	// or later.
	r.restart()
	if got := r.asks(peerAt(1), legalPacket(token, id, 34, 12)); !strings.Contains(got, "LEGAL_MOVES") {
		t.Errorf("after a restart: %s", got)
	}
	cold := r.store.stored(500, wamble.PublicKey{}, wamble.Stats{}, epoch)
	r.store.terms = append(r.store.terms, accepted{500, "own", blake2b.Sum256([]byte("be kind"))})
	if got := r.asks(streamAt(2), statsPacket(tokenOf(cold.Token), 1)); !strings.Contains(got, "PLAYER_STATS_DATA") {
		t.Errorf("a cold session: %s", got)
	}
	// Another text.
	next := *r.options.Config
	shared := *next.Shared
	shared.Profiles = append([]config.Neighbour(nil), shared.Profiles...)
	for i := range shared.Profiles {
		if shared.Profiles[i].Name == "own" {
			shared.Profiles[i].Terms = "be kinder"
		}
	}
	next.Shared = &shared
	r.step(&Configure{Config: &next})
	gated(40)
}

// TestTermsAreJournaledOnce: the text of the terms is in the first acceptance of a process,
// and in the first after it has changed; all others are small.
func TestTermsAreJournaledOnce(t *testing.T) {
	r := housed(t, "")
	set := func(text string) {
		next := *r.options.Config
		shared := *next.Shared
		shared.Profiles = append([]config.Neighbour(nil), shared.Profiles...)
		for i := range shared.Profiles {
			if shared.Profiles[i].Name == "own" {
				shared.Profiles[i].Terms = text
			}
		}
		next.Shared = &shared
		r.step(&Configure{Config: &next})
	}
	accepted := func(n int) (texts, bytes int) {
		r.frames = nil
		token, _ := r.join(n)
		before := len(r.frames)
		r.asks(peerAt(n), namePacket(wire.AcceptProfileTOS{}, token, 2))
		for _, f := range r.frames[before:] {
			bytes += len(f.frame)
			texts += strings.Count(string(f.frame), "be k")
		}
		return texts, bytes
	}
	long := "be kind" + strings.Repeat(", please", 10_000)
	for i, step := range []struct {
		terms string
		texts int
	}{{long, 1}, {long, 0}, {long, 0}, {"be kinder", 1}, {"be kinder", 0}} {
		set(step.terms)
		texts, bytes := accepted(i + 1)
		if texts != step.texts || texts == 0 && bytes > 100 || bytes == 0 {
			t.Errorf("acceptance %d: %d texts in %d bytes, want %d", i+1, texts, bytes, step.texts)
		}
	}
}

func TestAcceptTermsRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		token func(known wamble.Token) wamble.Token
		of    string
		want  string
	}{
		{"of another profile", func(k wamble.Token) wamble.Token { return k }, "open", "access denied"},
		{"of none", func(k wamble.Token) wamble.Token { return k }, "nowhere", "access denied"},
		{"nobody", func(wamble.Token) wamble.Token { return wamble.Token{9} }, "", "session not found"},
	} {
		r := housed(t, "")
		token, _ := r.join(1)
		var p wire.Packet
		r.step(&Packet{Peer: peerAt(1),
			Data: namePacket(wire.AcceptProfileTOS{Name: wire.Text(tc.of)}, tc.token(token), 7)})
		r.settle()
		r.answerLoads()
		if err := p.Decode(r.sent[len(r.sent)-1].packet); err != nil {
			t.Fatal(err)
		}
		m, ok := p.Message.(*wire.Error)
		seq, _ := p.Ext.Int(wire.KeyRequestSeq)
		if !ok || m.Code != wamble.AccessDenied || m.Reason.String() != tc.want || seq != 7 {
			t.Errorf("%s: got %v %d", tc.name, p.Message, seq)
		}
	}
	r := newRig(t, "")
	token, _ := r.join(1)
	expect(t, r.asks(peerAt(1), namePacket(wire.AcceptProfileTOS{}, token, 2)), "ACK 2", `ERROR 1001 "access denied"`)
}

func TestReservations(t *testing.T) {
	r := housed(t, "")
	token, id := r.join(1)
	ask := func(seq uint32) string {
		t.Helper()
		r.wait(cachedAnswerTTL)
		r.sent = nil
		m := r.joined(peerAt(1), token,
			namePacket(wire.GetActiveReservations{}, token, seq)).Message.(*wire.ActiveReservationsData)
		var rows []string
		for _, row := range m.Rows {
			rows = append(rows, fmt.Sprintf("%d %s %v %d", row.Board, row.Profile, row.Available,
				row.ExpiresAt-row.ReservedAt))
		}
		return strings.Join(rows, ", ")
	}
	if got := ask(2); got != "" {
		t.Errorf("without an identity: %q", got)
	}
	r.login(peerAt(1), token, 3, standardSigner(1))
	live := fmt.Sprintf("%d own true 60", id)
	if got := ask(5); got != live {
		t.Errorf("got %q, want %q", got, live)
	}
	hour := wamble.Reservation{At: epoch, Expires: epoch.Add(time.Hour)}
	with := func(board wamble.BoardID, profile string) wamble.Reservation {
		row := hour
		row.Board, row.Profile = board, profile
		return row
	}
	// Reservations in other profiles, one of which was removed; in this one, which are not
	// listed twice; and one here that has ended.
	r.store.reserved = []wamble.Reservation{with(70, "open"), with(71, "gone"), with(id, "own"), with(3-id, "own")}
	if got, want := ask(6), fmt.Sprintf("70 open true 3600, 71 gone false 3600, %d own true 3600", id); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.wait(cachedAnswerTTL)
	r.took()
	r.store.broken = true
	expect(t, r.asks(peerAt(1), namePacket(wire.GetActiveReservations{}, token, 7)), "ACK 7",
		`ERROR 1013 "reservations query failed"`)
	r.wait(cachedAnswerTTL)
	r.took()
	r.store.broken, r.store.away = false, true
	expect(t, r.asks(peerAt(1), namePacket(wire.GetActiveReservations{}, token, 8)), "ACK 8",
		`ERROR 1006 "database away"`)
}
