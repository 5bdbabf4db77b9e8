package profile

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// everyRequest has one request of each kind, in an order in which all succeed. A route
// without a row here fails TestEveryRequest.
var everyRequest = []struct {
	ctrl   wire.Control
	packet func(e *everybody) []byte
}{
	{wire.CtrlListProfiles, func(e *everybody) []byte { return namePacket(wire.ListProfiles{}, e.token, e.seq) }},
	{wire.CtrlGetProfileInfo, func(e *everybody) []byte {
		return namePacket(wire.GetProfileInfo{Name: wire.Text("own")}, e.token, e.seq)
	}},
	{wire.CtrlGetProfileTOS, func(e *everybody) []byte { return namePacket(wire.GetProfileTOS{}, e.token, e.seq) }},
	{wire.CtrlAcceptProfileTOS, func(e *everybody) []byte { return namePacket(wire.AcceptProfileTOS{}, e.token, e.seq) }},
	{wire.CtrlClientHello, func(e *everybody) []byte { return helloPacket(e.token, e.seq) }},
	{wire.CtrlGetLegalMoves, func(e *everybody) []byte { return legalPacket(e.token, e.board, e.seq, 12) }},
	{wire.CtrlSubmitPrediction, func(e *everybody) []byte {
		uci, _ := wire.MakeUCI("e2e4")
		return encode(wire.Header{Token: e.token, Board: e.board, Seq: e.seq}, wire.SubmitPrediction{UCI: uci})
	}},
	{wire.CtrlGetPredictions, func(e *everybody) []byte {
		return encode(wire.Header{Token: e.token, Board: e.board, Seq: e.seq}, wire.GetPredictions{})
	}},
	{wire.CtrlPlayerMove, func(e *everybody) []byte { return movePacket(e.token, e.board, e.seq, "e2e4") }},
	{wire.CtrlSpectateGame, func(e *everybody) []byte { return namePacket(wire.SpectateGame{}, e.token, e.seq) }},
	{wire.CtrlSpectateStop, func(e *everybody) []byte { return namePacket(wire.SpectateStop{}, e.token, e.seq) }},
	{wire.CtrlGetPlayerStats, func(e *everybody) []byte { return statsPacket(e.token, e.seq) }},
	{wire.CtrlGetLeaderboard, func(e *everybody) []byte { return ranksPacket(e.token, e.seq, 1, 16) }},
	{wire.CtrlLoginRequest, func(e *everybody) []byte { return challengePacket(e.token, e.seq, e.by.key) }},
	{wire.CtrlLoginRequest, func(e *everybody) []byte {
		m := wamble.LoginMessage(e.by.key, e.token, e.challenge)
		return proofPacket(e.token, e.seq, e.by.key, e.by.sign(m[:]))
	}},
	{wire.CtrlGetActiveReservations, func(e *everybody) []byte { return namePacket(wire.GetActiveReservations{}, e.token, e.seq) }},
	{wire.CtrlGetSessions, func(e *everybody) []byte { return namePacket(wire.GetSessions{}, e.token, e.seq) }},
	{wire.CtrlRevokeSessions, func(e *everybody) []byte { return namePacket(wire.RevokeSessions{}, e.token, e.seq) }},
	{wire.CtrlSetName, func(e *everybody) []byte { return namePacket(wire.SetName{Name: wire.Text("Ann")}, e.token, e.seq) }},
	{wire.CtrlLogout, func(e *everybody) []byte { return namePacket(wire.Logout{}, e.token, e.seq) }},
	{wire.CtrlClientGoodbye, func(e *everybody) []byte { return namePacket(wire.ClientGoodbye{}, e.token, e.seq) }},
}

// everybody is a player who makes every kind of request.
type everybody struct {
	*rig
	token     wamble.Token
	board     wamble.BoardID
	seq       uint32
	by        signer
	challenge [32]byte
	seen      map[wire.Control][]wire.Control // what answered each request
}

// doEverything makes one request of each kind, with a recorder attached, and returns the
// player.
func doEverything(t *testing.T, tape *bytes.Buffer) *everybody {
	t.Helper()
	c, err := config.Load("test.conf",
		profilesConf+`(def prediction-mode "streak") (policy-allow "id:500" "trust.tier" "*" 3)`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: c.Profile("own"), Seed: [32]byte{4}, Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	recorder, err := Tape.NewRecorder(tape, r.options)
	if err != nil {
		t.Fatal(err)
	}
	r.trace = func(now time.Time, inputs []Input, out *Output) {
		if err := recorder.Step(now, inputs, out); err != nil {
			t.Fatal(err)
		}
	}
	r.boot()
	e := &everybody{rig: r, seq: 1, by: standardSigner(3), seen: map[wire.Control][]wire.Control{}}
	e.token, e.board = r.join(1)
	for _, row := range everyRequest {
		e.seq++
		r.step(&Packet{Peer: peerAt(1), Data: row.packet(e)})
		r.settle()
		r.answerLoads()
		for len(r.sent) > 0 {
			e.receive(row.ctrl)
		}
		r.now = r.now.Add(20 * time.Millisecond)
	}
	return e
}

// receive records the first packet that was sent, and acknowledges it.
func (e *everybody) receive(asked wire.Control) {
	packet := e.sent[0].packet
	e.sent = e.sent[1:]
	var p wire.Packet
	if err := p.Decode(packet); err != nil {
		e.t.Fatal(err)
	}
	if p.Ctrl == wire.CtrlError {
		e.t.Errorf("%v: %s", asked, inWords(e.t, packet))
	}
	if m, ok := p.Message.(*wire.LoginChallenge); ok {
		e.challenge = m.Challenge
	}
	if p.Ctrl == wire.CtrlBoardUpdate {
		e.board = p.Board
	}
	if !slices.Contains(e.seen[asked], p.Ctrl) {
		e.seen[asked] = append(e.seen[asked], p.Ctrl)
	}
	if !p.Flags.Unreliable() && p.Ctrl != wire.CtrlAck {
		e.step(&Packet{Peer: peerAt(1), Data: ackPacket(e.token, p.Seq)})
	}
}

// TestEveryRequest: a request without a route, a route without a handler, and a route that is
// not tried here are failures; what succeeds is answered as the table of the protocol says;
// and all of it is replayed byte for byte.
func TestEveryRequest(t *testing.T) {
	for _, row := range routes {
		if row.handle == nil {
			t.Errorf("%v has no handler", row.ctrl)
		}
	}
	var tape bytes.Buffer
	e := doEverything(t, &tape)
	for _, c := range wire.Controls() {
		if !c.Request() {
			continue
		}
		info, _ := c.Info()
		for _, want := range append([]wire.Control{wire.CtrlAck}, info.Replies...) {
			if !slices.Contains(e.seen[c], want) {
				t.Errorf("%v was answered with %v, want %v", c, e.seen[c], want)
			}
		}
	}
	if n, first, err := Tape.Replay(&tape); n == 0 || first != "" || err != nil {
		t.Errorf("replayed %d steps: %v, %v", n, first, err)
	}
}
