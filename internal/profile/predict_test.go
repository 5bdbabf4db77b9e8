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

// applyPrediction applies an intent about a prediction, and returns an error when one is
// resolved twice.
func (m *memory) applyPrediction(in intent.Intent) error {
	switch in := in.(type) {
	case *intent.RecordPrediction:
		if m.boards[in.Board] == nil || m.sessions[in.Session] == nil || m.prediction(in.ID) != nil {
			return fmt.Errorf("prediction %d of board %d by %d does not fit", in.ID, in.Board, in.Session)
		}
		p := &wamble.Prediction{
			ID: in.ID, Board: in.Board, Session: in.Session, Parent: in.Parent,
			UCI: in.UCI, Ply: in.Ply, Streak: in.Streak, At: in.At,
		}
		if in.Parent != 0 {
			parent := m.prediction(in.Parent)
			if parent == nil || parent.Board != in.Board || parent.Ply+1 != in.Ply {
				return fmt.Errorf("prediction %d does not follow from %d", in.ID, in.Parent)
			}
			p.Depth = parent.Depth + 1
		}
		m.predictions = append(m.predictions, p)
	case *intent.ResolvePrediction:
		p := m.prediction(in.ID)
		if p == nil || p.Session != in.Session || p.Status != wamble.Pending || in.Status == wamble.Pending {
			return fmt.Errorf("prediction %d of %d is not to be resolved: %+v", in.ID, in.Session, p)
		}
		p.Status, p.Points = in.Status, in.Points
		m.sessions[in.Session].Stats.PredictionScore += in.Points
	default:
		return fmt.Errorf("unexpected intent %v", in.Kind())
	}
	return nil
}

func (m *memory) prediction(id wamble.PredictionID) *wamble.Prediction {
	for i := len(m.predictions) - 1; i >= 0; i-- {
		if m.predictions[i].ID == id {
			return m.predictions[i]
		}
	}
	return nil
}

// predicted returns what a store has of a board's predictions: the pending ones
// and their ancestors.
func (m *memory) predicted(id wamble.BoardID) (found []wamble.Prediction) {
	wanted := map[wamble.PredictionID]bool{}
	for i := len(m.predictions) - 1; i >= 0; i-- {
		if p := m.predictions[i]; p.Board == id && (p.Status == wamble.Pending || wanted[p.ID]) {
			wanted[p.ID], wanted[p.Parent] = true, true
		}
	}
	for _, p := range m.predictions {
		if p.Board == id && wanted[p.ID] {
			found = append(found, *p)
		}
	}
	return found
}

// TestWhoWatchesMayPredict: a session without a board, which watches or waits for one, may
// predict on the boards of others where everybody may.
func TestWhoWatchesMayPredict(t *testing.T) {
	for _, tc := range []struct {
		conf string
		want string
	}{
		{`(def prediction-mode "streak")`, "status 1"},
		{`(def prediction-mode "holder")`, "status 6"},
		{`(def prediction-mode "gated") (def prediction-gated-percent 0)`, "status 6"},
		{`(def prediction-mode "gated") (def prediction-gated-percent 100)`, "status 1"},
	} {
		for without, name := range map[int64]string{1: "waits", 2: "watches"} {
			t.Run(tc.conf+" "+name, func(t *testing.T) {
				r := newRig(t, "(def min-boards 1) (def max-boards 1) "+tc.conf)
				_, id := r.joinBy(streamAt(1))
				var p wire.Packet
				hello := encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, without))
				if err := p.Decode(r.reply(streamAt(2), hello)); err != nil || p.Board != 0 {
					t.Fatalf("board %d, %v", p.Board, err)
				}
				caps, _ := p.Ext.Int(wire.KeySessionCaps)
				r.sent = nil
				got := r.send(streamAt(2), submitPacket(p.Token, id, 2, "e2e4", 0))
				if may := wire.SessionCaps(caps)&wire.MayPredict != 0; !strings.Contains(got, tc.want) ||
					may != (tc.want == "status 1") {
					t.Errorf("may predict: %v; answered by %s", may, got)
				}
			})
		}
	}
}

func submitPacket(token wamble.Token, board wamble.BoardID, seq uint32, uci string, parent uint64) []byte {
	u, err := wire.MakeUCI(uci)
	if err != nil {
		panic(err)
	}
	return encode(wire.Header{Token: token, Board: board, Seq: seq},
		wire.SubmitPrediction{UCI: u, Parent: wire.Uint64(parent)})
}

func treePacket(token wamble.Token, board wamble.BoardID, seq uint32, depth, limit uint8) []byte {
	return encode(wire.Header{Token: token, Board: board, Seq: seq}, wire.GetPredictions{Depth: depth, Limit: limit})
}

// keys that PREDICTION_DATA always has.
const (
	submitKeys = "prediction.request_kind prediction.submit_status"
	treeKeys   = "prediction.request_kind"
)

// predictors is a rig with a player on board 1 and one on board 2, who predict.
func predictors(t testing.TB, conf string) (r *rig, one, two wamble.Token) {
	r = newRig(t, "(def min-boards 2) (def max-boards 2) "+conf)
	one, b1 := r.join(1)
	two, b2 := r.join(2)
	if b1 == b2 || b1+b2 != 3 {
		t.Fatalf("boards %d and %d", b1, b2)
	}
	if b1 == 2 { // the holder of board 1 is the first
		one, two = two, one
		r.send(peerAt(1), helloPacket(two, 3))
	}
	return r, one, two
}

// at returns the address of a token's client.
func (r *rig) at(token wamble.Token) wamble.Peer {
	for n := 1; n < 10; n++ {
		if r.p.link.Linked(token) && r.p.link.At(token, prefixOf(peerAt(n))) {
			return peerAt(n)
		}
	}
	r.t.Fatal("nobody speaks for the token")
	return wamble.Peer{}
}

func (r *rig) ask(token wamble.Token, packet []byte) string {
	r.t.Helper()
	return r.send(r.at(token), packet)
}

// TestSubmit: every status, through packets.
func TestSubmit(t *testing.T) {
	const on = `(def prediction-mode "streak") `
	for _, tc := range []struct {
		name, conf string
		prepare    func(r *rig, one, two wamble.Token)
		// packet is made of a token of a player on board 2, for board 1.
		packet func(two wamble.Token) []byte
		want   []string
	}{
		{"created", on, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) status 1 board 1 " + submitKeys}},
		{"a child", on, func(r *rig, _, two wamble.Token) { r.ask(two, submitPacket(two, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e7e5", 1) },
			[]string{"ACK 9", "PREDICTION_DATA 2<1:e7e5@2/1=0(0) status 1 board 1 " + submitKeys}},
		{"duplicate", on, func(r *rig, _, two wamble.Token) { r.ask(two, submitPacket(two, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "d2d4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) status 2 board 1 " + submitKeys}},
		{"duplicate move", on, func(r *rig, one, _ wamble.Token) { r.ask(one, submitPacket(one, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) status 3 board 1 " + submitKeys}},
		{"illegal", on, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e5", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 4 board 1 " + submitKeys}},
		{"no move", on, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 4 board 1 " + submitKeys}},
		{"limit", on + "(def prediction-max-pending 1)", func(r *rig, one, _ wamble.Token) { r.ask(one, submitPacket(one, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "d2d4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 5 board 1 " + submitKeys}},
		{"not the holder", `(def prediction-mode "holder")`, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 6 board 1 " + submitKeys}},
		{"the holder", `(def prediction-mode "holder")`, nil, func(t wamble.Token) []byte { return submitPacket(t, 2, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) status 1 board 2 " + submitKeys}},
		{"gated", `(def prediction-mode "gated") (def prediction-gated-percent 0)`, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 6 board 1 " + submitKeys}},
		{"too deep", on + "(def prediction-view-depth-limit 0)", func(r *rig, _, two wamble.Token) { r.ask(two, submitPacket(two, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e7e5", 1) },
			[]string{"ACK 9", "PREDICTION_DATA status 6 board 1 " + submitKeys}},
		{"unknown parent", on, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 77) },
			[]string{"ACK 9", "PREDICTION_DATA status 7 board 1 " + submitKeys}},
		{"unknown board", on, nil, func(t wamble.Token) []byte { return submitPacket(t, 99, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 7 board 99 " + submitKeys}},
		{"disabled", "", nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 8 board 1 " + submitKeys}},
		{"a byte too many", on, nil, func(t wamble.Token) []byte {
			return encode(wire.Header{Ctrl: wire.CtrlSubmitPrediction, Token: t, Board: 1, Seq: 9},
				wire.Unknown{Payload: []byte("\x04e2e4\x00\x00\x00\x00\x00\x00\x00\x00\x00")})
		}, nil},
		{"denied by the policy", on + `(policy-deny "*" "prediction.write" "*")`, nil, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 6 board 1 " + submitKeys}},
		{"denied on another board", on + `(policy-deny "*" "prediction.write" "*" "" "" () () "board" "2")`, nil,
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) status 1 board 1 " + submitKeys}},
		{"deeper than the policy allows", on + `(policy-allow "*" "prediction.write" "*" 0)`,
			func(r *rig, _, two wamble.Token) { r.ask(two, submitPacket(two, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e7e5", 1) },
			[]string{"ACK 9", "PREDICTION_DATA status 6 board 1 " + submitKeys}},
		{"a duplicate that the reader may not read", on + `(policy-deny "*" "prediction.read" "*")`,
			func(r *rig, _, two wamble.Token) { r.ask(two, submitPacket(two, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "d2d4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 2 board 1 " + submitKeys}},
		{"the same move, which the reader may not read", on + `(policy-deny "*" "prediction.read" "*")`,
			func(r *rig, one, _ wamble.Token) { r.ask(one, submitPacket(one, 1, 8, "e2e4", 0)) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA 2<0:e2e4@1/0=0(0) status 1 board 1 " + submitKeys}},
		{"brownout", on, func(r *rig, _, _ wamble.Token) {
			r.step(&SetBrownout{Brownout: Brownout{NoPredictions: true}})
		}, func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", `ERROR 1006 "no predictions are taken at present"`}},
		{"read-only", on, func(r *rig, _, _ wamble.Token) { r.step(&SetBrownout{Brownout: Brownout{ReadOnly: true}}) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{`ERROR 1006 "the server is read-only at present" unreliable`}},
		{"no number is left", on, func(r *rig, _, _ wamble.Token) { drain(r, wamble.PredictionIDs) },
			func(t wamble.Token) []byte { return submitPacket(t, 1, 9, "e2e4", 0) },
			[]string{"ACK 9", "PREDICTION_DATA status 5 board 1 " + submitKeys}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, one, two := predictors(t, tc.conf)
			if tc.prepare != nil {
				tc.prepare(r, one, two)
				r.took()
			}
			expect(t, r.ask(two, tc.packet(two)), tc.want...)
			r.apply() // what is kept fits the store
		})
	}
}

func TestSubmitByNobody(t *testing.T) {
	r := newRig(t, `(def prediction-mode "streak")`)
	r.join(1) // from an address that has proven itself
	for i, packet := range [][]byte{submitPacket(wamble.Token{9}, 1, 2, "e2e4", 0),
		treePacket(wamble.Token{8}, 1, 3, 0, 0)} {
		r.send(peerAt(1), packet)
		r.answerLoads()
		expect(t, r.took(), fmt.Sprint("ACK ", i+2), `ERROR 1007 "unknown player" board 1 error.blocking`)
	}
}

// TestPredictions: the predictions that a reader sees, and their depth.
func TestPredictions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		packet func(token wamble.Token) []byte
		want   []string
	}{
		{"as deep as the server likes", func(t wamble.Token) []byte { return treePacket(t, 1, 9, 0, 0) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) 2<0:d2d4@1/0=0(0) 3<1:e7e5@2/1=0(0) board 1 " +
				treeKeys}},
		{"no deeper than the server likes", func(t wamble.Token) []byte { return treePacket(t, 1, 9, 200, 200) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) 2<0:d2d4@1/0=0(0) 3<1:e7e5@2/1=0(0) board 1 " +
				treeKeys}},
		{"limited", func(t wamble.Token) []byte { return treePacket(t, 1, 9, 1, 2) },
			[]string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) 2<0:d2d4@1/0=0(0) board 1 " + treeKeys}},
		{"without a payload", func(t wamble.Token) []byte {
			return encode(wire.Header{Ctrl: wire.CtrlGetPredictions, Token: t, Board: 1, Seq: 9}, wire.Unknown{})
		}, []string{"ACK 9", "PREDICTION_DATA 1<0:e2e4@1/0=0(0) 2<0:d2d4@1/0=0(0) 3<1:e7e5@2/1=0(0) board 1 " +
			treeKeys}},
		{"nothing there", func(t wamble.Token) []byte { return treePacket(t, 2, 9, 0, 0) }, []string{"ACK 9", "PREDICTION_DATA board 2 " + treeKeys}},
		{"unknown board", func(t wamble.Token) []byte { return treePacket(t, 99, 9, 0, 0) }, []string{"ACK 9", "PREDICTION_DATA board 99 " + treeKeys}},
		{"three bytes", func(t wamble.Token) []byte {
			return encode(wire.Header{Ctrl: wire.CtrlGetPredictions, Token: t, Board: 1, Seq: 9},
				wire.Unknown{Payload: make([]byte, 3)})
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, one, two := predictors(t, `(def prediction-mode "streak") (def prediction-view-depth-limit 1)`)
			r.ask(one, submitPacket(one, 1, 5, "e2e4", 0))
			r.ask(two, submitPacket(two, 1, 5, "d2d4", 0))
			r.ask(two, submitPacket(two, 1, 6, "e7e5", 1))
			expect(t, r.ask(two, tc.packet(two)), tc.want...)
		})
	}
}

// TestPredictionsByPolicy: the policy decides who may read, and how deep.
func TestPredictionsByPolicy(t *testing.T) {
	for rules, want := range map[string]string{
		`(policy-deny "*" "prediction.read" "*")`:    `ERROR 1011 "prediction read failed"`,
		`(policy-allow "*" "prediction.read" "*" 0)`: "PREDICTION_DATA 1<0:e2e4@1/0=0(0) board 1 " + treeKeys,
		`(policy-allow "*" "prediction.read" "*" 9)`: "PREDICTION_DATA 1<0:e2e4@1/0=0(0) 2<1:e7e5@2/1=0(0) board 1 " +
			treeKeys,
	} {
		r, _, two := predictors(t, `(def prediction-mode "streak")`+rules)
		r.ask(two, submitPacket(two, 1, 5, "e2e4", 0))
		r.ask(two, submitPacket(two, 1, 6, "e7e5", 1))
		expect(t, r.ask(two, treePacket(two, 1, 9, 0, 0)), "ACK 9", want)
	}
}

// TestAuthors: a reader sees their own token, and pseudonyms for all others, which are of no
// use to anybody else.
func TestAuthors(t *testing.T) {
	r, one, two := predictors(t, `(def prediction-mode "streak")`)
	r.ask(one, submitPacket(one, 1, 5, "e2e4", 0))
	r.ask(two, submitPacket(two, 1, 5, "d2d4", 0))
	authors := func(reader wamble.Token, seq uint32) []wire.Author {
		var p wire.Packet
		if err := p.Decode(r.reply(r.at(reader), treePacket(reader, 1, seq, 0, 0))); err != nil {
			t.Fatal(err)
		}
		var all []wire.Author
		for _, row := range p.Message.(*wire.PredictionData).Rows {
			all = append(all, row.Author)
		}
		return all
	}
	first, second, again := authors(one, 6), authors(two, 6), authors(one, 7)
	if first[0] != wire.Author(one) || second[1] != wire.Author(two) {
		t.Error("a player's own prediction is not marked as theirs")
	}
	if first[1] == wire.Author(two) || second[0] == wire.Author(one) {
		t.Error("a token is shown to somebody else")
	}
	if again[1] != first[1] || first[1] == second[0] {
		t.Errorf("pseudonyms %x, %x, %x", first[1], again[1], second[0])
	}
	for _, name := range []wire.Author{first[1], second[0]} { // no player is found by a pseudonym
		if token := wamble.Token(name); r.p.sessions.Find(token) != nil || r.p.link.Linked(token) {
			t.Errorf("%x is somebody's token", name)
		}
	}
}

// TestResolve: the move, its predictions and what they pay are one frame; scores
// and caps follow.
func TestResolve(t *testing.T) {
	r, one, two := predictors(t, `(def prediction-mode "streak") (def prediction-penalty-incorrect 0.5)`)
	r.ask(one, submitPacket(one, 1, 5, "d2d4", 0))
	r.ask(two, submitPacket(two, 1, 5, "e2e4", 0))
	r.ask(two, submitPacket(two, 1, 6, "e7e5", 2))
	frames := len(r.frames)
	r.ask(one, movePacket(one, 1, 7, "e2e4"))
	if len(r.frames) != frames+1 {
		t.Errorf("a move with predictions makes %d frames, want 1", len(r.frames)-frames)
	}
	expect(t, r.ask(two, treePacket(two, 1, 7, 0, 0)), "ACK 7",
		"PREDICTION_DATA 1<0:d2d4@1/0=2(-0.5) 2<0:e2e4@1/0=1(1) 3<2:e7e5@2/1=0(0) board 1 "+treeKeys)
	r.apply()
	for token, want := range map[wamble.Token]float64{one: -0.5, two: 1} {
		if got := r.store.byToken(token).Stats.PredictionScore; got != want {
			t.Errorf("got a score of %g, want %g", got, want)
		}
	}
}

// TestPredictionsSurvive: a crash loses no pending prediction, nor the streak
// that it builds on.
func TestPredictionsSurvive(t *testing.T) {
	r, one, two := predictors(t, `(def prediction-mode "streak") (def max-boards 3)`)
	r.ask(two, submitPacket(two, 1, 5, "e2e4", 0))
	r.ask(one, movePacket(one, 1, 5, "e2e4"))
	r.ask(two, submitPacket(two, 1, 6, "e7e5", 1))
	r.ask(two, submitPacket(two, 1, 7, "g1f3", 2))
	r.restart()
	r.send(peerAt(2), helloPacket(two, 1))
	r.answerLoads()
	r.send(peerAt(2), ackPacket(two, 1))
	r.took()
	expect(t, r.send(peerAt(2), treePacket(two, 1, 8, 0, 0)), "ACK 8",
		"PREDICTION_DATA 1<0:e2e4@1/0=1(1) 2<1:e7e5@2/1=0(0) 3<2:g1f3@3/2=0(0) board 1 "+treeKeys)
	// Another player plays on board 1.
	for n := 20; ; n++ {
		token, board := r.join(n)
		if board == 1 {
			r.send(peerAt(n), movePacket(token, 1, 2, "e7e5"))
			break
		}
		if n == 30 {
			t.Fatal("nobody gets board 1")
		}
	}
	expect(t, r.send(peerAt(2), treePacket(two, 1, 9, 0, 0)), "ACK 9",
		"PREDICTION_DATA 1<0:e2e4@1/0=1(1) 2<1:e7e5@2/1=1(2) 3<2:g1f3@3/2=0(0) board 1 "+treeKeys)
}

// TestPredictionsExpire: with the end of a game all its predictions end.
func TestPredictionsExpire(t *testing.T) {
	r, one, two := predictors(t, `(def prediction-mode "streak") (def max-moves-per-board 1)`)
	r.ask(two, submitPacket(two, 1, 5, "e2e4", 0))
	r.ask(two, submitPacket(two, 1, 6, "e7e5", 1))
	r.ask(one, movePacket(one, 1, 5, "e2e4"))
	r.apply()
	for i, want := range []wamble.PredictionStatus{wamble.Correct, wamble.Expired} {
		if got := r.store.predictions[i].Status; got != want {
			t.Errorf("prediction %d is %v, want %v", i+1, got, want)
		}
	}
	if n := r.p.audience.predictions.Len(); n != 0 {
		t.Errorf("%d predictions are left", n)
	}
	expect(t, r.ask(two, treePacket(two, 1, 7, 0, 0)), "ACK 7", "PREDICTION_DATA board 1 "+treeKeys)
}

// TestPredictableMoves: GET_LEGAL_MOVES shows players who may predict the legal moves of a
// board of others.
func TestPredictableMoves(t *testing.T) {
	const asks = wire.FlagPredictionContext
	for _, tc := range []struct {
		conf  string
		flags wire.Flags
		want  string
	}{
		{"", asks, "LEGAL_MOVES 12 [] board 1"},
		{`(def prediction-mode "streak")`, 0, "LEGAL_MOVES 12 [] board 1"},
		{`(def prediction-mode "streak")`, asks, "LEGAL_MOVES 12 [{12 20 0} {12 28 0}] board 1"},
		{`(def prediction-mode "holder")`, asks, "LEGAL_MOVES 12 [] board 1"},
	} {
		r, _, two := predictors(t, tc.conf)
		packet := encode(wire.Header{Token: two, Board: 1, Seq: 9, Flags: tc.flags}, wire.GetLegalMoves{Square: 12})
		expect(t, r.ask(two, packet), "ACK 9", tc.want)
	}
}

// TestPredictionFields: players who may predict are told so, and how much.
func TestPredictionFields(t *testing.T) {
	for _, tc := range []struct {
		conf   string
		caps   wire.SessionCaps
		fields string
	}{
		{"", 0, ""},
		{`(def prediction-mode "streak")`, wire.MayPredict | wire.MayReadPredictions, "prediction.source prediction.max_pending"},
		{`(def prediction-mode "holder")`, wire.MayPredict | wire.MayReadPredictions, "prediction.source prediction.max_pending"},
		{`(def prediction-mode "gated") (def prediction-gated-percent 0)`, wire.MayReadPredictions, "prediction.source"},
	} {
		r, one, _ := predictors(t, tc.conf)
		var p wire.Packet
		if err := p.Decode(r.reply(r.at(one), helloPacket(one, 9))); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, f := range p.Ext {
			if strings.HasPrefix(f.Key, "prediction.") {
				fields = append(fields, f.Key)
			}
		}
		caps, _ := p.Ext.Int(wire.KeySessionCaps)
		if got := wire.SessionCaps(caps) & (wire.MayPredict | wire.MayReadPredictions); got != tc.caps ||
			strings.Join(fields, " ") != tc.fields {
			t.Errorf("%s: got %03x %q, want %03x %q", tc.conf, got, fields, tc.caps, tc.fields)
		}
		r.wait(time.Second)
	}
}

// TestEraseForgetsPredictions: an erased player's predictions can no longer be followed, and
// the store gets no resolution of what it has deleted.
func TestEraseForgetsPredictions(t *testing.T) {
	r, one, two := predictors(t, `(def prediction-mode "streak")`)
	by := standardSigner(5)
	r.login(r.at(two), two, 10, by)
	r.ask(two, submitPacket(two, 1, 20, "e2e4", 0))
	r.ask(one, submitPacket(one, 1, 21, "e7e5", 1))
	r.step(&Erase{Key: by.key, Sessions: []wamble.SessionID{99}})
	r.settle()
	r.took()
	r.apply() // fails for what does not fit
	if n := r.p.audience.predictions.Len(); n != 0 {
		t.Errorf("%d predictions are left", n)
	}
	expect(t, r.ask(one, submitPacket(one, 1, 22, "e7e5", 1)), "ACK 22", "PREDICTION_DATA status 7 board 1 "+submitKeys)
	r.ask(one, movePacket(one, 1, 23, "e2e4"))
	r.apply()
}
