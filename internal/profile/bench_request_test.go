package profile

import (
	"runtime"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// benched is a player whose requests are measured: packet in, the store's load and answer,
// the frame, ACK and answer out, and the client's ACK in.
type benched struct {
	*everybody
	peer    wamble.Peer
	packet  Packet
	applied Applied
}

func newBenched(b *testing.B, rules string) *benched {
	b.Helper()
	c, err := config.Load("bench.conf", profilesConf+`(def prediction-mode "streak") (def rate-limit-requests-per-sec 0) (def login-attempts-per-min 0)
(def rate-limit-ip-requests-per-sec 0) (def new-players-per-ip-per-min 0) (def max-boards 100000) (def max-players 1000000) `+rules, config.Params{})
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{t: b, now: epoch, store: newMemory()}
	r.options = Options{Config: c.Profile("own"), Seed: [32]byte{1}, Now: epoch, LeaseSize: 1 << 20}
	r.p = New(r.options)
	r.boot()
	e := &benched{everybody: &everybody{rig: r, seq: 1, by: standardSigner(3), seen: map[wire.Control][]wire.Control{}},
		peer: peerAt(1)}
	e.token, e.board = r.join(1)
	e.do(namePacket(wire.AcceptProfileTOS{}, e.token, e.next()))
	r.store.stored(500, wamble.PublicKey{1}, wamble.Stats{Score: 9, Games: 3}, epoch)
	return e
}

func (e *benched) next() uint32 { e.seq++; return e.seq }

// do sends one request, and carries out everything that follows from it. It returns the last
// answer.
func (e *benched) do(packet []byte) (last wire.Header) {
	e.now = e.now.Add(time.Millisecond)
	e.packet = Packet{Peer: e.peer, Data: packet}
	e.step(&e.packet)
	e.settle()
	e.answerLoads()
	for i := 0; i < len(e.sent); i++ {
		h, _ := wire.Peek(e.sent[i].packet)
		if h.Ctrl == wire.CtrlAck || h.Flags.Unreliable() {
			continue
		}
		last = h
		if h.Ctrl == wire.CtrlLoginChallenge {
			copy(e.challenge[:], e.sent[i].packet[wire.HeaderSize:])
		}
		e.packet.Data = ackPacket(e.token, h.Seq)
		e.step(&e.packet)
	}
	e.sent, e.frames = e.sent[:0], e.frames[:0]
	e.applied.Seq = e.seq64()
	e.step(&e.applied)
	return last
}

func (e *benched) seq64() uint64 { return e.rig.seq }

// again replaces the player by a new one at the same address.
func (e *benched) again() {
	e.token = wamble.Token{}
	h := e.do(helloPacket(wamble.Token{}, e.next()))
	e.token, e.board = h.Token, h.Board
	e.do(namePacket(wire.AcceptProfileTOS{}, e.token, e.next()))
}

// measured runs op and reports processor time beside wall-clock time.
func measured(b *testing.B, op func()) {
	b.ReportAllocs()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := cpuTime()
	for b.Loop() {
		op()
	}
	b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// BenchmarkRequest measures one request of each kind, with all that follows from it; the
// store answers at once. For LOGIN it is challenge and proof, for GOODBYE and LOGOUT also the
// hello before it.
func BenchmarkRequest(b *testing.B) {
	for i, row := range everyRequest {
		name := row.ctrl.String()
		if i > 0 && everyRequest[i-1].ctrl == row.ctrl {
			continue // the second half of a login
		}
		var op func(e *benched)
		switch row.ctrl {
		case wire.CtrlPlayerMove, wire.CtrlSubmitPrediction:
			continue // BenchmarkMove; a prediction is made once for a position
		case wire.CtrlLoginRequest:
			op = func(e *benched) {
				e.do(challengePacket(e.token, e.next(), e.by.key))
				m := wamble.LoginMessage(e.by.key, e.token, e.challenge)
				if h := e.do(proofPacket(e.token, e.next(), e.by.key,
					e.by.sign(m[:]))); h.Ctrl != wire.CtrlLoginSuccess {
					b.Fatalf("got %v", h.Ctrl)
				}
			}
		case wire.CtrlLogout, wire.CtrlClientGoodbye:
			op = func(e *benched) {
				e.do(row.packet(e.everybody))
				e.again()
			}
		default:
			op = func(e *benched) { e.do(row.packet(e.everybody)) }
		}
		b.Run(name, func(b *testing.B) {
			e := newBenched(b, "")
			measured(b, func() {
				e.next()
				op(e)
			})
		})
	}
}

// BenchmarkPolicy is the same request without rules, and with many.
func BenchmarkPolicy(b *testing.B) {
	for name, rules := range map[string]string{
		"none": "", "ten": `(policy-allow "*" "protocol.ctrl" "*" 0) (policy-allow "id:7" "game.move" "*" 0) (policy-deny "id:8" "game.move" "*")
(policy-deny "id:9" "protocol.ctrl" "player_move") (policy-deny "id:10" "protocol.ctrl" "*") (policy-allow "*" "game.mode" "view" 0)
(policy-allow "*" "stats.read" "player" 0) (policy-allow "*" "leaderboard.read" "global" 0) (policy-allow "*" "trust.tier" "*" 1) (policy-deny "id:11" "protocol.ctrl" "logout")`,
	} {
		b.Run(name, func(b *testing.B) {
			e := newBenched(b, rules)
			measured(b, func() { e.do(legalPacket(e.token, e.board, e.next(), 12)) })
		})
	}
}
