package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestPolicyGate: the policy is asked about every request, under its own name, from every
// sender; also about packets that only servers send.
func TestPolicyGate(t *testing.T) {
	for _, c := range wire.Controls() {
		if c == wire.CtrlAck {
			continue
		}
		name := strings.ToLower(c.String())
		rules := fmt.Sprintf(`(policy-deny "*" "protocol.ctrl" "%s")`, name)
		if !c.Request() {
			rules = `(policy-deny "*" "protocol.ctrl" "*")`
		}
		r := newRig(t, "(def min-boards 2)")
		token, _ := r.join(1)
		next := configOf(t, "(def min-boards 2) "+rules)
		r.step(&Configure{Config: next})
		expect(t, r.asks(peerAt(1), minimal(t, c, token, 2)), "ACK 2", `ERROR 1001 ""`)
	}
}

// TestPolicyOfPlayers: rules for one identity, in time, and the default.
func TestPolicyOfPlayers(t *testing.T) {
	by := standardSigner(1)
	for _, tc := range []struct {
		name, rules string
		wait        time.Duration
		friend      string // what a move of the identity gives
		other       string // the answer for another player's
	}{
		{"open", "", 0, "BOARD_UPDATE", "BOARD_UPDATE"},
		{"closed to all but one", `(policy-deny "*" "game.move" "play") (policy-allow "id:1" "game.move" "play" 0)`, 0, "BOARD_UPDATE", `ERROR 1001 ""`},
		{"by tag", `(policy-tag "id:1" "friend") (policy-deny "tag:friend" "protocol.ctrl" "player_move")`, 0, `ERROR 1001 ""`, "BOARD_UPDATE"},
		{"by key", fmt.Sprintf(`(policy-deny "pubkey:%x" "protocol.ctrl" "player_move")`, by.key), 0, `ERROR 1001 ""`, "BOARD_UPDATE"},
		{"another profile's rule", `(policy-deny "*" "game.move" "profile:elsewhere::play") (defprofile elsewhere ((def port 2)))`, 0, "BOARD_UPDATE", "BOARD_UPDATE"},
		{"before its time", fmt.Sprintf(`(policy-deny "*" "game.move" "play" "" "" %d)`, epoch.Unix()+100), 0, "BOARD_UPDATE", "BOARD_UPDATE"},
		{"in its time", fmt.Sprintf(`(policy-deny "*" "game.move" "play" "" "" %d)`, epoch.Unix()+100), 100 * time.Second, `ERROR 1001 ""`, `ERROR 1001 ""`},
		{"closed by default, open to one", `(def policy-default "deny") (policy-allow "id:1" "protocol.ctrl" "*" 0) (policy-allow "id:1" "game.move" "*" 0)`, 0, "BOARD_UPDATE", `ERROR 1001 ""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 4)")
			friend, own := r.join(1)
			other, others := r.join(2)
			r.login(peerAt(1), friend, 2, by)
			if id := r.p.sessions.Find(friend).Identity().ID(); id != 1 {
				t.Fatalf("the identity has number %d", id)
			}
			r.step(&Configure{Config: configOf(t, "(def min-boards 4) "+tc.rules)})
			r.now = r.now.Add(tc.wait)
			for _, m := range []struct {
				peer  int
				token wamble.Token
				board wamble.BoardID
				want  string
			}{{1, friend, own, tc.friend}, {2, other, others, tc.other}} {
				if got := r.asks(peerAt(m.peer), movePacket(m.token, m.board, 5, "e2e4")); !strings.Contains(got,
					"ACK 5\n"+m.want) {
					t.Errorf("player %d got %s, want %s", m.peer, got, m.want)
				}
			}
		})
	}
}

// TestCapsOfPlayers: session.caps has what the policy allows a player.
func TestCapsOfPlayers(t *testing.T) {
	for _, tc := range []struct {
		rules string
		off   wire.SessionCaps
	}{
		{"", 0},
		{`(policy-deny "*" "protocol.ctrl" "login_request")`, wire.MayAttachIdentity},
		{`(policy-deny "*" "protocol.ctrl" "logout")`, wire.MayLogout},
		{`(policy-deny "*" "game.move" "legal")`, wire.MayMove},
		{`(policy-deny "*" "protocol.ctrl" "player_move")`, wire.MayMove},
		{`(policy-deny "*" "stats.read" "player")`, wire.MayReadStats},
		{`(policy-deny "*" "leaderboard.read" "*")`, wire.MayReadLeaderboard},
		{`(policy-deny "*" "spectate.access" "view" "" "" () () "mode" "summary")`, wire.MayWatchSummary},
		{`(policy-deny "*" "spectate.access" "view" "" "" () () "mode" "focus")`, wire.MayWatchFocus},
		{`(policy-deny "*" "game.mode" "view")`, wire.MaySeeGameMode},
		{`(policy-deny "*" "prediction.write" "streak")`, wire.MayPredict},
		{`(policy-deny "*" "prediction.read" "tree")`, wire.MayReadPredictions},
		{`(policy-deny "id:77" "game.move" "*")`, 0},
	} {
		r := newRig(t, `(def min-boards 2) (def prediction-mode "streak") `+tc.rules)
		token, _ := r.join(1)
		var p wire.Packet
		if err := p.Decode(r.reply(peerAt(1), helloPacket(token, 2))); err != nil {
			t.Fatal(err)
		}
		got, _ := p.Ext.Int(wire.KeySessionCaps)
		if want := wire.SessionCaps(0x3ff) &^ tc.off; wire.SessionCaps(got) != want {
			t.Errorf("%s: got %03x, want %03x", tc.rules, got, want)
		}
	}
}

// TestPolicyOfWatchers: watching and predicting ask the policy, too.
func TestPolicyOfWatchers(t *testing.T) {
	uci, _ := wire.MakeUCI("e2e4")
	for _, tc := range []struct {
		name, rules string
		packet      func(token wamble.Token, board wamble.BoardID) []byte
		want        string
	}{
		{"all boards", `(policy-deny "*" "spectate.access" "view" "" "" () () "mode" "summary")`,
			func(t wamble.Token, _ wamble.BoardID) []byte { return namePacket(wire.SpectateGame{}, t, 2) },
			`ERROR 1002 ""`},
		{"one board", `(policy-deny "*" "spectate.access" "view" "" "" () () "mode" "focus")`,
			func(t wamble.Token, b wamble.BoardID) []byte {
				return encode(wire.Header{Token: t, Board: b, Seq: 2}, wire.SpectateGame{})
			}, `ERROR 1002 ""`},
		{"by tier", `(def spectator-visibility 3) (policy-allow "*" "trust.tier" "*" 2)`,
			func(t wamble.Token, _ wamble.BoardID) []byte { return namePacket(wire.SpectateGame{}, t, 2) },
			`ERROR 1002 ""`},
		{"predicting", `(policy-deny "*" "prediction.write" "streak")`,
			func(t wamble.Token, b wamble.BoardID) []byte {
				return encode(wire.Header{Token: t, Board: b, Seq: 2}, wire.SubmitPrediction{UCI: uci})
			}, "PREDICTION_DATA status 6"},
		{"reading predictions", `(policy-deny "*" "prediction.read" "tree")`,
			func(t wamble.Token, b wamble.BoardID) []byte {
				return encode(wire.Header{Token: t, Board: b, Seq: 2}, wire.GetPredictions{})
			}, `ERROR 1011 "prediction read failed"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, `(def min-boards 2) (def prediction-mode "streak") `+tc.rules)
			token, id := r.join(1)
			if got := r.asks(peerAt(1), tc.packet(token, id)); !strings.HasPrefix(got, "ACK 2\n"+tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestRateLimitBypass: a player with a rule for the bypass is not counted.
func TestRateLimitBypass(t *testing.T) {
	for _, tc := range []struct {
		rules string
		want  bool
	}{
		{"", false},
		{`(policy-allow "*" "rate_limit.bypass" "request" 0 "" "" () () "ctrl" "get_legal_moves")`, true},
		{`(policy-allow "*" "rate_limit.bypass" "request" 0 "" "" () () "ctrl" "player_move")`, false},
		{`(policy-allow "id:9" "rate_limit.bypass" "request" 0)`, false},
	} {
		r := newRig(t, "(def min-boards 2) (def rate-limit-requests-per-sec 5) "+tc.rules)
		token, id := r.join(1)
		answered := 0
		for seq := uint32(2); seq < 42; seq++ {
			if strings.Contains(r.send(peerAt(1), legalPacket(token, id, seq, 12)), "LEGAL_MOVES") {
				answered++
			}
		}
		if got := answered == 40; got != tc.want {
			t.Errorf("%s: %d of 40 answered", tc.rules, answered)
		}
	}
}

// TestBannedIdentity: a session of the identity that was away is refused when it
// comes back.
func TestBannedIdentity(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	key := wamble.PublicKey{5}
	s := r.store.stored(500, key, wamble.Stats{}, epoch)
	r.step(&Ban{Whom: Target{Key: key}, Text: "cheating"})
	expect(t, r.asks(peerAt(1), helloPacket(tokenOf(s.Token), 1)), "ACK 1",
		`ERROR 1001 "banned: cheating" error.blocking`)
}
