package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

func watchPacket(token wamble.Token, board wamble.BoardID, seq uint32, flags wire.Flags) []byte {
	return encode(wire.Header{Token: token, Board: board, Seq: seq, Flags: flags}, wire.SpectateGame{})
}

func stopPacket(token wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.SpectateStop{})
}

const (
	afterE4     = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b"
	resetKeys   = "spectate.state spectate.summary_generation"
	summaryKeys = "spectate.state spectate.summary_generation board.ply board.version"
	focusKeys   = "spectate.state board.ply board.version"
)

// TestSpectate: each answer and each refusal, through packets. Players one and two hold
// boards 1 and 2, and two asks.
func TestSpectate(t *testing.T) {
	const trusted = ` (policy-allow "*" "trust.tier" "*" 3)`
	const withAdmins = "(def max-spectators 1) (def admin-trust-level 3)" + trusted
	for _, tc := range []struct {
		name, conf string
		prepare    func(r *rig, one, two wamble.Token)
		packet     func(two wamble.Token) []byte
		want       []string
	}{
		{"summary", "", nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  " + resetKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 1 " + summaryKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 2 " + summaryKeys}},
		{"focus", "", nil, func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"the other kind", "", nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, wire.FlagFilterChess960) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  " + resetKeys}},
		{"this kind", "", nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, wire.FlagFilterStandard) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  " + resetKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 1 " + summaryKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 2 " + summaryKeys}},
		{"both kinds", "", nil, func(t wamble.Token) []byte {
			return watchPacket(t, 0, 9, wire.FlagFilterStandard|wire.FlagFilterChess960)
		}, []string{"ACK 9", "SPECTATE_UPDATE 08  " + resetKeys,
			"SPECTATE_UPDATE 08 " + start + " w board 1 " + summaryKeys,
			"SPECTATE_UPDATE 08 " + start + " w board 2 " + summaryKeys}},
		{"visibility", "(def spectator-visibility 1)", nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) },
			[]string{"ACK 9", `ERROR 1002 ""`}},
		{"visible", "(def spectator-visibility 3)" + trusted, nil,
			func(t wamble.Token) []byte { return watchPacket(t, 2, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 2 " + focusKeys}},
		{"busy", "(def max-client-sessions 2)", func(r *rig, one, _ wamble.Token) {
			r.ask(one, watchPacket(one, 0, 8, 0))
			c := *r.p.cfg
			c.Link.MaxClientSessions = 1
			r.step(&Configure{Config: &c})
		}, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) }, []string{"ACK 9", `ERROR 1003 ""`}},
		{"full", "(def max-spectators 1)", func(r *rig, one, _ wamble.Token) { r.ask(one, watchPacket(one, 0, 8, 0)) },
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) }, []string{"ACK 9", `ERROR 1004 ""`}},
		{"full, but for an admin", withAdmins, func(r *rig, one, _ wamble.Token) { r.ask(one, watchPacket(one, 0, 8, 0)) },
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"full, for an admin's summary, too", withAdmins, func(r *rig, one, _ wamble.Token) { r.ask(one, watchPacket(one, 0, 8, 0)) },
			func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) }, []string{"ACK 9", `ERROR 1004 ""`}},
		{"no focus", "(def spectator-max-focus-per-session 0)", nil, func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", `ERROR 1001 ""`}},
		{"no such board", "", nil, func(t wamble.Token) []byte { return watchPacket(t, 99, 9, 0) }, []string{"ACK 9", `ERROR 1005 ""`}},
		{"a board that sleeps", "", func(r *rig, one, _ wamble.Token) {
			r.ask(one, encode(wire.Header{Token: one, Seq: 8}, wire.ClientGoodbye{}))
		}, func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) }, []string{"ACK 9", `ERROR 1005 ""`}},
		{"denied by policy", "", func(r *rig, _, _ wamble.Token) {
			r.step(&Configure{Config: configOf(t, `(def policy-default "deny")`)})
		}, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) }, []string{"ACK 9", `ERROR 1001 ""`}},
		{"the policy denies watching", `(policy-deny "*" "spectate.access" "*")`, nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, 0) },
			[]string{"ACK 9", `ERROR 1002 ""`}},
		{"the policy denies a focus", `(policy-deny "*" "spectate.access" "*" "" "" () () "mode" "focus")`, nil,
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) }, []string{"ACK 9", `ERROR 1002 ""`}},
		{"the policy denies only the summary", `(policy-deny "*" "spectate.access" "*" "" "" () () "mode" "summary")`,
			nil,
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"full, but the policy lets them pass",
			`(def max-spectators 0) (policy-allow "*" "spectate.capacity_bypass" "*" 0)`, nil,
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"trust by the policy", `(def spectator-visibility 5) (policy-allow "*" "trust.tier" "*" 5)`, nil,
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"no mode is seen, no filter counts", `(policy-deny "*" "game.mode" "*")`, nil, func(t wamble.Token) []byte { return watchPacket(t, 0, 9, wire.FlagFilterChess960) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  " + resetKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 1 " + summaryKeys,
				"SPECTATE_UPDATE 08 " + start + " w board 2 " + summaryKeys}},
		{"while the server is read-only", "", func(r *rig, _, _ wamble.Token) { r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}}) },
			func(t wamble.Token) []byte { return watchPacket(t, 1, 9, 0) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08 " + start + " w board 1 " + focusKeys}},
		{"stop", "", func(r *rig, _, two wamble.Token) { r.ask(two, watchPacket(two, 0, 8, 0)) }, func(t wamble.Token) []byte { return stopPacket(t, 9) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  spectate.state"}},
		{"stop what never began", "", nil, func(t wamble.Token) []byte { return stopPacket(t, 9) }, []string{"ACK 9", "SPECTATE_UPDATE 08  spectate.state"}},
		{"stop, though nobody may watch", "(def spectator-visibility 9)", nil, func(t wamble.Token) []byte { return stopPacket(t, 9) },
			[]string{"ACK 9", "SPECTATE_UPDATE 08  spectate.state"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, one, two := predictors(t, tc.conf)
			if tc.prepare != nil {
				tc.prepare(r, one, two)
				r.took()
			}
			got := r.ask(two, tc.packet(two))
			if strings.Contains(got, "board 2 "+summaryKeys+"\n") { // whichever player came last
				lines := strings.Split(got, "\n")
				lines[2], lines[3] = lines[3], lines[2]
				got = strings.Join(lines, "\n")
			}
			expect(t, got, tc.want...)
		})
	}
}

func TestSpectateByNobody(t *testing.T) {
	r := newRig(t, "(def min-boards 1)")
	r.join(1)
	r.send(peerAt(1), watchPacket(wamble.Token{9}, 0, 2, 0))
	r.answerLoads()
	expect(t, r.took(), "ACK 2", `ERROR 1007 "unknown player" error.blocking`)
	expect(t, r.send(peerAt(1), stopPacket(wamble.Token{9}, 3)), "ACK 3", "SPECTATE_UPDATE 08  spectate.state")
}

// updates returns the unreliable packets to one peer that show boards to spectators. Reliable
// ones are left out: without an ACK they are repeated.
func (r *rig) updates(to wamble.Peer) []string {
	var lines []string
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); s.to == to && h.Ctrl == wire.CtrlSpectateUpdate && h.Flags.Unreliable() {
			lines = append(lines, inWords(r.t, s.packet))
		}
	}
	r.sent = nil
	return lines
}

// TestWatching: the updates of a game that a watcher is sent, until it ends and after.
func TestWatching(t *testing.T) {
	r, one, two := predictors(t, "(def max-moves-per-board 2)")
	at := r.at(two)
	r.ask(two, watchPacket(two, 1, 9, 0))
	r.ask(one, movePacket(one, 1, 9, "e2e4"))
	r.wait(100 * time.Millisecond)
	expect(t, strings.Join(r.updates(at), "\n"),
		"SPECTATE_UPDATE 88 "+afterE4+" board 1 last_move.from last_move.to board.ply board.version")
	// No watcher sees what is not durable.
	r.stuck = true
	r.step(&Packet{Peer: at, Data: movePacket(two, 2, 10, "d2d4")})
	r.wait(2 * time.Second)
	expect(t, strings.Join(r.updates(at), "\n"), "")
	r.stuck = false
	r.settle()
	r.wait(100 * time.Millisecond)
	if got := r.updates(at); len(got) == 0 || !strings.Contains(got[0], afterE4) {
		t.Errorf("got %q, want the board again", got)
	}
	// The second move ends the game of board 1: two holds it, or one does.
	holder := r.p.sessions.ByID(r.p.boards.Board(1).Holder())
	if holder == nil {
		t.Fatal("nobody holds board 1")
	}
	r.ask(holder.Token(), movePacket(holder.Token(), 1, 50, "e7e5"))
	r.wait(100 * time.Millisecond)
	got := r.took()
	for _, want := range []string{"SPECTATE_UPDATE 88 rnbqkbnr/pppp1ppp/8/4p3", "SERVER_NOTIFICATION 2 board 1",
		"SPECTATE_UPDATE 08  " + resetKeys} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
	r.ask(two, encode(wire.Header{Token: two, Seq: 60}, wire.ClientGoodbye{}))
	r.sent = nil
	r.wait(20 * time.Second)
	expect(t, strings.Join(r.updates(at), "\n"), "")
	if n := r.p.audience.spectators.Len(); n != 0 {
		t.Errorf("%d watch after the goodbye", n)
	}
	r.wait(61 * time.Second)
	if r.p.audience.spectators.IsOpen() {
		t.Error("the hub is open, and nobody is there")
	}
}

// TestSlowWatching: under brownout updates are rarer.
func TestSlowWatching(t *testing.T) {
	count := func(slow bool) int {
		r, one, two := predictors(t, "(def max-boards 3)")
		r.step(&SetBrownout{Brownout: Brownout{SlowWatching: slow}})
		r.ask(two, watchPacket(two, 0, 9, 0))
		n := 0
		for i := range 80 {
			r.ask(one, helloPacket(one, uint32(100+2*i)))
			held := r.p.boards.Held(r.p.sessions.Find(one).ID())
			legal := held.Position().LegalMoves(nil)
			r.ask(one, movePacket(one, held.ID(), uint32(101+2*i), legal[0].String()))
			r.sent = nil
			r.wait(50 * time.Millisecond)
			n += len(r.updates(r.at(two)))
		}
		return n
	}
	if fast, slow := count(false), count(true); slow*2 > fast || slow == 0 {
		t.Errorf("%d updates slowly, %d otherwise", slow, fast)
	}
}

// audienceOptions are the options of predict and spectate, each with its effect: a request is
// tried with the defaults and with the option set.
var audienceOptions = []struct {
	option, set      string // set: what is defined beside the scenery
	scenery          string
	try              func(r *rig, one, two wamble.Token) string
	without, changed string // found in what comes of it
}{
	{"prediction-mode", `"streak"`, "", submits("e2e4"), "status 8", "status 1"},
	{"prediction-base-points", "3", predicting, guess("e2e4"), "=1(1)", "=1(3)"},
	{"prediction-streak-multiplier", "5", predicting, guessTwice, "=1(2)", "=1(5)"},
	{"prediction-streak-cap", "1", predicting, guessTwice, "=1(2)", "=1(1)"},
	{"prediction-gated-percent", "100", `(def prediction-mode "gated") (def prediction-gated-percent 0)`, submits("e2e4"), "status 6", "status 1"},
	{"prediction-view-depth-limit", "0", predicting, deep, "status 1", "status 6"},
	{"prediction-penalty-incorrect", "2", predicting, guess("d2d4"), "=2(0)", "=2(-2)"},
	{"prediction-match-policy", `"from-to-only"`, predicting, promotes, "=2(0)", "=1(1)"},
	{"prediction-max-pending", "1", predicting, both("e2e4", "d2d4"), "status 1", "status 5"},
	{"prediction-max-per-parent", "2", predicting, again("d2d4"), "status 2", "status 1"},
	{"prediction-enforce-move-duplicate", "0", predicting, both("e2e4", "e2e4"), "status 3", "status 1"},
	{"max-spectators", "0", "", watches(1), "SPECTATE_UPDATE", "ERROR 1004"},
	{"admin-trust-level", "0", "(def max-spectators 0)", watches(1), "ERROR 1004", "SPECTATE_UPDATE"},
	{"spectator-visibility", "1", "", watches(1), "SPECTATE_UPDATE", "ERROR 1002"},
	{"spectator-summary-hz", "0", "", sees(0), "got 1", "got 0"},
	{"spectator-focus-hz", "0", "", sees(1), "got 1", "got 0"},
	{"spectator-max-focus-per-session", "0", "", watches(1), "SPECTATE_UPDATE", "ERROR 1001"},
	{"spectator-summary-mode", `"full"`, "", sees(0), "got 1", "got 3"},
	{"spectator-packets-per-sec", "1", "", watches(0), "board 1", "spectate.summary_generation"},
	{"spectator-total-packets-per-sec", "1", "", watches(0), "board 1", "spectate.summary_generation"},
}

const predicting = `(def prediction-mode "streak")`

func submits(uci string) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, _, two wamble.Token) string { return r.ask(two, submitPacket(two, 1, 20, uci, 0)) }
}

func guess(uci string) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, one, two wamble.Token) string {
		r.ask(two, submitPacket(two, 1, 20, uci, 0))
		r.ask(one, movePacket(one, 1, 20, "e2e4"))
		return r.ask(two, treePacket(two, 1, 21, 0, 0))
	}
}

func guessTwice(r *rig, one, two wamble.Token) string {
	guess("e2e4")(r, one, two)
	r.ask(two, submitPacket(two, 1, 22, "e7e5", 0))
	r.ask(one, helloPacket(one, 21))
	holder := r.p.sessions.ByID(r.p.boards.Board(1).Holder())
	if holder == nil { // one waits for a board, and there is only this one
		token, _ := r.join(3)
		holder = r.p.sessions.Find(token)
	}
	r.ask(holder.Token(), movePacket(holder.Token(), 1, 23, "e7e5"))
	return r.ask(two, treePacket(two, 1, 24, 0, 0))
}

func deep(r *rig, _, two wamble.Token) string {
	r.ask(two, submitPacket(two, 1, 20, "e2e4", 0))
	return r.ask(two, submitPacket(two, 1, 21, "e7e5", 1))
}

func both(first, second string) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, one, two wamble.Token) string {
		r.ask(one, submitPacket(one, 1, 20, first, 0))
		return r.ask(two, submitPacket(two, 1, 20, second, 0))
	}
}

func again(uci string) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, _, two wamble.Token) string {
		r.ask(two, submitPacket(two, 1, 20, "e2e4", 0))
		return r.ask(two, submitPacket(two, 1, 21, uci, 0))
	}
}

// promotes predicts a queen on a board where a knight is made.
func promotes(r *rig, _, two wamble.Token) string {
	r.store.boards[900] = &wamble.Board{ID: 900, FEN: "8/P6p/8/8/8/8/k6P/7K w - - 0 1", Status: wamble.Reserved,
		Variant: -1, Created: epoch,
		Holder: &wamble.Reservation{Board: 900, Session: 90, At: epoch, Expires: epoch.Add(time.Hour)}}
	r.store.sessions[90] = &wamble.Session{ID: 90, Token: hashOf(wamble.Token{9}), LastSeen: epoch}
	r.restart()
	r.send(peerAt(4), helloPacket(wamble.Token{9}, 1))
	r.send(peerAt(4), ackPacket(wamble.Token{9}, 1))
	r.send(peerAt(2), helloPacket(two, 1))
	r.answerLoads()
	r.send(peerAt(2), ackPacket(two, 1))
	r.took()
	r.ask(two, submitPacket(two, 900, 20, "a7a8q", 0))
	r.send(peerAt(4), movePacket(wamble.Token{9}, 900, 2, "a7a8n"))
	r.took()
	return r.ask(two, treePacket(two, 900, 21, 0, 0))
}

func watches(board wamble.BoardID) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, _, two wamble.Token) string { return r.ask(two, watchPacket(two, board, 20, 0)) }
}

// sees counts the updates that show a watcher a move.
func sees(board wamble.BoardID) func(r *rig, one, two wamble.Token) string {
	return func(r *rig, one, two wamble.Token) string {
		r.ask(two, watchPacket(two, board, 20, 0))
		r.ask(one, movePacket(one, 1, 20, "e2e4"))
		r.wait(700 * time.Millisecond)
		return fmt.Sprint("got ", len(r.updates(r.at(two))))
	}
}

// TestAudienceOptions: every option of predict and spectate has an effect.
func TestAudienceOptions(t *testing.T) {
	rows := map[string]bool{}
	for _, tc := range audienceOptions {
		rows[tc.option] = true
		for i, want := range []string{tc.without, tc.changed} {
			conf := tc.scenery
			if i == 1 {
				conf += fmt.Sprintf(" (def %s %s)", tc.option, tc.set)
			}
			r, one, two := predictors(t, conf)
			if got := tc.try(r, one, two); !strings.Contains(got, want) || i == 1 && tc.without == "board 1" &&
				strings.Contains(got, tc.without) {
				t.Errorf("%s, %s: got\n%s\nwant %q in it", tc.option, conf, got, want)
			}
		}
	}
	for _, o := range config.All() {
		if (o.Room == "predict" || o.Room == "spectate") && !rows[o.Name] {
			t.Errorf("option %s has no row", o.Name)
		}
	}
}
