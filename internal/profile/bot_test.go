package profile

import (
	"testing"

	"wamble"
	"wamble/internal/intent"
	"wamble/wire"
)

// botHello is the first hello of a program over a connection; it returns its token, or
// why it was refused.
func (r *rig) botHello(n int) (wamble.Token, string) {
	r.t.Helper()
	var p wire.Packet
	if err := p.Decode(r.reply(streamAt(n),
		encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.Int(wire.KeyHelloBot, 1)))); err != nil {
		r.t.Fatal(err)
	}
	if e, ok := p.Message.(*wire.Error); ok {
		return wamble.Token{}, e.Reason.String()
	}
	r.send(streamAt(n), statsPacket(p.Token, 2))
	return p.Token, ""
}

// TestBotsAreCountedAndBounded: a player who declares to be a program is marked, and only so
// many are admitted.
func TestBotsAreCountedAndBounded(t *testing.T) {
	r := newRig(t, "(def min-boards 4) (def max-bots 2) (def max-bot-share 60)")
	token, why := r.botHello(1)
	if why != "" || !r.p.sessions.Find(token).Bot() {
		t.Fatalf("refused (%s), or not marked", why)
	}
	r.joinBy(streamAt(2))
	if g := r.p.Gauges(); g.Bots != 1 || g.LivePlayers != 2 {
		t.Errorf("%d bots of %d players, want 1 of 2", g.Bots, g.LivePlayers)
	}
	if _, why := r.botHello(3); why != "there are enough bots at present" { // two of three are more than 60 %
		t.Errorf("got %q, want that there are enough", why)
	}
	r.joinBy(streamAt(4))
	if _, why := r.botHello(5); why != "" {
		t.Errorf("got %q, though two of four are bots", why)
	}
	r.joinBy(streamAt(6))
	r.joinBy(streamAt(7))
	if _, why := r.botHello(8); why != "there are enough bots at present" {
		t.Errorf("got %q, want that two are enough", why)
	}
	if h, _ := wire.Peek(r.reply(streamAt(1), encode(wire.Header{Seq: 3, Token: token}, wire.ClientHello{},
		wire.Int(wire.KeyHelloBot, 1)))); h.Ctrl != wire.CtrlServerHello {
		t.Errorf("a bot that is here is greeted by %s", h.Ctrl)
	}
}

// TestNoBots: by max-bots or by policy, a host refuses all programs, but no people.
func TestNoBots(t *testing.T) {
	for _, conf := range []string{"(def max-bots 0)", "(def max-bot-share 0)",
		`(policy-deny "*" "game.bot" "play" "people only")`} {
		r := newRig(t, conf)
		if _, why := r.botHello(1); why != "no bots are let in" {
			t.Errorf("%s: got %q", conf, why)
		}
		r.joinBy(streamAt(2))
		if g := r.p.Gauges(); g.Bots != 0 || g.LivePlayers != 1 {
			t.Errorf("%s: %d bots of %d players", conf, g.Bots, g.LivePlayers)
		}
	}
}

// TestBotsAreStored: that a session is a bot's is stored once, whichever hello declares it,
// and restored with it from the store, and from the journal after a crash.
func TestBotsAreStored(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	program, _ := r.botHello(1)
	person, _ := r.joinBy(streamAt(2))
	late, _ := r.joinBy(streamAt(3))
	for seq := uint32(5); seq < 7; seq++ {
		r.reply(streamAt(3), encode(wire.Header{Seq: seq, Token: late}, wire.ClientHello{},
			wire.Int(wire.KeyHelloBot, 1)))
	}
	marked := map[wamble.SessionID]int{}
	for _, in := range r.intents() {
		if m, ok := in.(*intent.MarkBot); ok {
			marked[m.Session]++
		}
	}
	for token, want := range map[wamble.Token]int{program: 1, person: 0, late: 1} {
		if s := r.p.sessions.Find(token); marked[s.ID()] != want || s.Bot() != (want == 1) {
			t.Errorf("session %d: marked %d times, is a bot's: %v, want %d", s.ID(), marked[s.ID()], s.Bot(), want)
		}
	}
}

// TestBotsArePaid: a program's points are its own, though it left before the end: it is
// ranked among programs.
func TestBotsArePaid(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	program, _ := r.botHello(1)
	id, bot := r.holding(program), r.p.sessions.Find(program).ID()
	for i, uci := range []string{"f2f3", "e7e5", "g2g4"} {
		r.send(streamAt(1), movePacket(program, id, uint32(3+i), uci))
	}
	r.send(streamAt(1), encode(wire.Header{Seq: 6, Token: program}, wire.ClientGoodbye{}))
	r.apply()
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Find(program) != nil {
		t.Fatal("it is still here")
	}
	person, got := r.joinBy(streamAt(2))
	if got != id {
		t.Fatalf("got board %d, want %d", got, id)
	}
	r.send(streamAt(2), movePacket(person, id, 3, "d8h4"))
	paid := map[wamble.SessionID]float64{}
	for _, in := range r.intents() {
		if p, ok := in.(*intent.RecordPayout); ok {
			paid[p.Session] = p.Points
		}
	}
	if paid[r.p.sessions.Find(person).ID()] <= 0 || paid[bot] <= 0 {
		t.Errorf("paid %v, want something for both: each made a move for Black", paid)
	}
}

// TestBotsStayMarked: after a program has left, readers and watchers of its board still see
// which moves it made.
func TestBotsStayMarked(t *testing.T) {
	r := newRig(t, "(def min-boards 1) (def max-boards 1)")
	program, _ := r.botHello(1)
	id := r.holding(program)
	r.send(streamAt(1), movePacket(program, id, 3, "e2e4"))
	r.send(streamAt(1), encode(wire.Header{Seq: 4, Token: program}, wire.ClientGoodbye{}))
	r.apply()
	r.step(&Applied{Seq: r.seq})
	if r.p.sessions.Find(program) != nil {
		t.Fatal("it is still here")
	}
	if !r.p.spectated(r.p.boards.Board(id)).Bot {
		t.Error("spectators do not see it")
	}
	person, _ := r.joinBy(streamAt(2))
	r.send(streamAt(2), movePacket(person, id, 3, "e7e5"))
	b, _, ok := r.p.Peek(id)
	if !ok || len(b.Moves) != 2 || !b.Moves[0].Bot || b.Moves[1].Bot {
		t.Errorf("got %+v", b.Moves)
	}
	if r.p.spectated(r.p.boards.Board(id)).Bot {
		t.Error("spectators see a program where a person moved")
	}
}
