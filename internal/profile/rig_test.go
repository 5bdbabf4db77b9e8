package profile

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/wire"
)

// epoch is when the clocks of the tests start.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// configOf is the profile of a text. Unless the text has other values, one board is in play
// for each player, so that a test can predict the next board, and predictions are off.
func configOf(t testing.TB, text string) *config.Profile {
	t.Helper()
	if !strings.Contains(text, "boards-per-player") {
		text = "(def boards-per-player 1) " + text
	}
	if !strings.Contains(text, "prediction-mode") {
		text = `(def prediction-mode "off") ` + text
	}
	c, err := config.Load("test.conf", text, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Default
}

func peerAt(n int) wamble.Peer {
	ip := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
	return wamble.Peer{Addr: netip.AddrPortFrom(ip, uint16(1024+n%60000))}
}

func encode[M wire.Message](h wire.Header, m M, ext ...wire.Field) []byte {
	b, err := wire.Append(nil, h, m, ext...)
	if err != nil {
		panic(err)
	}
	return b
}

func helloPacket(token wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.ClientHello{})
}

func movePacket(token wamble.Token, board wamble.BoardID, seq uint32, uci string, ext ...wire.Field) []byte {
	u, err := wire.MakeUCI(uci)
	if err != nil {
		panic(err)
	}
	return encode(wire.Header{Token: token, Board: board, Seq: seq}, wire.PlayerMove{UCI: u}, ext...)
}

func legalPacket(token wamble.Token, board wamble.BoardID, seq uint32, square uint8) []byte {
	return encode(wire.Header{Token: token, Board: board, Seq: seq}, wire.GetLegalMoves{Square: square})
}

func ackPacket(token wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.Ack{})
}

// rig is a profile with a journal and a store in memory.
type rig struct {
	t       testing.TB
	p       *Profile
	out     Output
	now     time.Time
	options Options
	store   *memory
	// frames are those of the journal that the store does not have yet.
	frames  []journaled
	seq     uint64 // number of the last message of the journal
	stuck   bool   // the journal does not sync
	away    bool   // the store is: no lease is answered
	indexes []pendingIndex
	loads   []Load
	sent    []sent
	last    uint32 // number of the last reliable packet that was sent
	trace   func(now time.Time, inputs []Input, out *Output)
}

type journaled struct {
	seq   uint64
	frame []byte
}

type sent struct {
	to     wamble.Peer
	packet []byte
}

// newRig returns a profile that is ready, with numbers for everything.
func newRig(t testing.TB, conf string) *rig {
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: configOf(t, conf), Seed: [32]byte{1, 2, 3}, Now: epoch, LeaseSize: 1 << 17}
	r.p = New(r.options)
	r.boot()
	return r
}

// boot restores what the store has, and takes leases, as a server does.
func (r *rig) boot() {
	var inputs []Input
	for _, b := range r.store.liveBoards() {
		inputs = append(inputs, &RestoreBoard{Board: *b, Predictions: r.store.predicted(b.ID)})
		if b.Holder != nil {
			inputs = append(inputs, &RestoreSession{Session: *r.store.session(b.Holder.Session)})
		}
	}
	r.step(append(inputs, &Ready{})...)
	r.settle()
	r.sent = nil
}

// restart is a crash: a new profile from what journal and store have.
func (r *rig) restart() {
	r.apply()
	r.indexes, r.loads, r.sent = nil, nil, nil
	r.options.Seed[31]++
	r.options.Now = r.now
	r.p = New(r.options)
	r.boot()
}

// step runs one step, and carries out its outputs except Durable and loads.
func (r *rig) step(inputs ...Input) {
	r.p.Step(r.now, inputs, &r.out)
	if r.trace != nil {
		r.trace(r.now, inputs, &r.out)
	}
	for i := range r.out.Frames.Len() {
		r.seq++
		r.frames = append(r.frames, journaled{r.seq, append([]byte(nil), r.out.Frames.At(i)...)})
	}
	if r.out.DurableIndex != 0 {
		r.indexes = append(r.indexes, pendingIndex{r.out.DurableIndex, r.seq})
	}
	r.loads = append(r.loads, r.out.Loads...)
	for i := range r.out.Packets.Len() {
		to, b := r.out.Packets.At(i)
		r.sent = append(r.sent, sent{to, append([]byte(nil), b...)})
		if h, err := wire.Peek(b); err == nil && h.Ctrl != wire.CtrlAck && !h.Flags.Unreliable() {
			r.last = h.Seq
		}
	}
	if leases := append([]Lease(nil), r.out.Leases...); len(leases) > 0 && !r.away {
		var answers []Input
		for _, l := range leases {
			answers = append(answers, &Leased{Sequence: l.Sequence, Blocks: r.store.lease(l)})
		}
		r.step(answers...)
	}
}

// sync makes everything durable that waits for it.
func (r *rig) sync() {
	for len(r.indexes) > 0 {
		g := r.indexes[0]
		r.indexes = r.indexes[1:]
		r.step(&Durable{Index: g.index, Seq: g.seq})
	}
}

// settle syncs until nothing waits.
func (r *rig) settle() {
	for len(r.indexes) > 0 && !r.stuck {
		r.sync()
	}
}

// apply brings the journal into the store.
func (r *rig) apply() {
	for _, f := range r.frames {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			r.t.Fatalf("message %d: %v", f.seq, err)
		}
		for _, in := range intents {
			if err := r.store.apply(in); err != nil {
				r.t.Fatalf("message %d: %v", f.seq, err)
			}
		}
	}
	r.frames = nil
}

// answerLoads answers the loads from the store, as a server does.
func (r *rig) answerLoads() {
	for len(r.loads) > 0 {
		l := r.loads[0]
		r.loads = r.loads[1:]
		r.step(r.store.answer(l))
		r.settle()
	}
}

// send sends one packet and returns what comes back, in words.
func (r *rig) send(from wamble.Peer, b []byte) string {
	r.t.Helper()
	r.step(&Packet{Peer: from, Data: b})
	r.settle()
	r.addressed(from, b)
	return r.took()
}

// addressed checks that every answer has the token of its request; a hello may be given
// another one.
func (r *rig) addressed(from wamble.Peer, request []byte) {
	r.t.Helper()
	asked, err := wire.Peek(request)
	if err != nil || asked.Token.IsZero() {
		return
	}
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); s.to == from && h.Ctrl != wire.CtrlServerHello &&
			h.Ctrl != wire.CtrlLoginSuccess && h.Token != asked.Token {
			r.t.Errorf("%v is for token %v, who asked has %v", h.Ctrl, h.Token, asked.Token)
		}
	}
}

// took returns what was sent since the last call, in words.
func (r *rig) took() string {
	var lines []string
	for _, s := range r.sent {
		lines = append(lines, inWords(r.t, s.packet))
	}
	r.sent = nil
	return strings.Join(lines, "\n")
}

// wait lets time pass, step by step.
func (r *rig) wait(d time.Duration) {
	end := r.now.Add(d)
	for i := 0; ; i++ {
		if i == 100000 {
			r.t.Fatal("the profile never rests")
		}
		next := r.out.Next
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(r.now) {
			r.now = next
		}
		r.step(&Tick{})
		r.settle()
	}
	r.now = end
	r.step(&Tick{})
	r.settle()
}

// inWords describes a packet: ACK 7; ERROR 1009 "reason" board 3.
func inWords(t testing.TB, b []byte) string {
	var p wire.Packet
	if err := p.Decode(b); err != nil {
		t.Fatalf("the profile sent %x: %v", b, err)
	}
	text := p.Ctrl.String()
	switch m := p.Message.(type) {
	case *wire.Ack:
		return fmt.Sprintf("%s %d", text, p.Seq)
	case *wire.Error:
		text += fmt.Sprintf(" %d %q", m.Code, m.Reason)
		if p.Flags.Unreliable() {
			text += " unreliable"
		}
	case *wire.ServerHello:
		text += fmt.Sprintf(" %02x %s", uint8(p.Flags), m.FEN)
	case *wire.BoardUpdate:
		text += fmt.Sprintf(" %02x %s", uint8(p.Flags), m.FEN)
	case *wire.LegalMoves:
		text += fmt.Sprintf(" %d %v", m.Square, m.Moves)
	case *wire.SpectateUpdate:
		text += fmt.Sprintf(" %02x %s", uint8(p.Flags), m.FEN)
	case *wire.PredictionData:
		for _, row := range m.Rows {
			text += fmt.Sprintf(" %d<%d:%s@%d/%d=%d(%g)", row.ID, row.Parent, row.UCI, row.TargetPly, row.Depth,
				row.Status, float64(row.Points))
		}
		if status, ok := p.Ext.Int(wire.KeyPredictionSubmitStatus); ok {
			text += fmt.Sprintf(" status %d", status)
		}
	case *wire.ServerNotification:
		text += fmt.Sprintf(" %d", m.Type)
	case *wire.LoginSuccess:
		text += fmt.Sprintf(" %02x %s", uint8(p.Flags), m.FEN)
	case *wire.LoginFailed:
		text += fmt.Sprintf(" %d %q", m.Code, m.Reason)
	case *wire.ProfilesList:
		text += fmt.Sprintf(" %s", m.Names)
	case *wire.ProfileInfo:
		text += fmt.Sprintf(" %s", m.Info)
	case *wire.PlayerStatsData:
		text += fmt.Sprintf(" %g %d %d", float64(m.Score), m.Games, m.Games960)
	case *wire.LeaderboardData:
		text += fmt.Sprintf(" %d self %d", m.Order, m.SelfRank)
		for _, row := range m.Rows {
			text += fmt.Sprintf(" [%d: %d %g %g %d %s]", row.Rank, row.Session, float64(row.Score), float64(row.Rating),
				row.Games, row.Handle)
		}
	}
	if p.Board != 0 {
		text += fmt.Sprintf(" board %d", p.Board)
	}
	for _, f := range p.Ext {
		if f.Key != wire.KeyRequestSeq { // TestAnswersNameTheirRequest
			text += " " + f.Key
		}
	}
	return text
}

// withCookie returns a hello with the cookie that the profile gives to an address.
func (r *rig) withCookie(from wamble.Peer, token wamble.Token, seq uint32, ext ...wire.Field) []byte {
	r.t.Helper()
	hello := encode(wire.Header{Token: token, Seq: seq}, wire.ClientHello{}, append(ext, wire.NoCookie())...)
	before := len(r.sent)
	r.step(&Packet{Peer: from, Data: hello})
	var p wire.Packet
	if len(r.sent) != before+1 || p.Decode(r.sent[before].packet) != nil ||
		!wire.SetCookie(hello, p.Ext.View(wire.KeyHelloCookie)) {
		r.t.Fatalf("no cookie: %s", r.took())
	}
	if answer := len(r.sent[before].packet); answer > len(hello) {
		r.t.Fatalf("a hello of %d bytes is answered with a cookie in %d", len(hello), answer)
	}
	r.sent = r.sent[:before]
	return hello
}

// greet says hello from n with a cookie, as our clients do, and returns the answer, in words.
func (r *rig) greet(n int, seq uint32, ext ...wire.Field) string {
	r.t.Helper()
	return r.send(peerAt(n), r.withCookie(peerAt(n), wamble.Token{}, seq, ext...))
}

// join says hello from n with a cookie, and acknowledges.
func (r *rig) join(n int) (token wamble.Token, board wamble.BoardID) {
	r.t.Helper()
	r.step(&Packet{Peer: peerAt(n), Data: r.withCookie(peerAt(n), wamble.Token{}, 1)})
	r.settle()
	for _, s := range r.sent {
		if h, _ := wire.Peek(s.packet); h.Ctrl == wire.CtrlServerHello && s.to == peerAt(n) {
			token, board = h.Token, h.Board
		}
	}
	if token.IsZero() {
		r.t.Fatalf("no SERVER_HELLO: %s", r.took())
	}
	r.step(&Packet{Peer: peerAt(n), Data: ackPacket(token, 1)})
	r.sent = nil
	return token, board
}
