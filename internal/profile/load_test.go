package profile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/config"
	"wamble/wire"
)

// outcomes are the answers of a store: the four, and that of a broken one that has found
// nothing.
const (
	foundNothing = Broken + 1
	outcomes     = int(foundNothing) + 1
)

// answerAs answers a load with an outcome. What is found but not stored is invented.
func (m *memory) answerAs(l Load, o Outcome) *Loaded {
	if o == foundNothing {
		return &Loaded{Load: l.ID, Outcome: Found}
	}
	if o != Found {
		return &Loaded{Load: l.ID, Outcome: o}
	}
	if in := m.answer(l).(*Loaded); in.Outcome == Found {
		return in
	}
	in := &Loaded{Load: l.ID, Answer: &Answer{}}
	switch l.Subject {
	case SessionOf, TargetOf:
		in.Session = &wamble.Session{ID: 900, Token: hashOf(l.Token), Created: epoch, LastSeen: epoch}
	case GameOf:
		in.Board = &wamble.Board{ID: l.Board, Profile: config.DefaultName, FEN: start + " w KQkq - 0 1", Variant: -1}
	}
	return in
}

// coldRequests are the requests of everyRequest, and those about a player who is not in
// memory.
func coldRequests() []func(e *everybody) []byte {
	target := func(f wire.Field) func(e *everybody) []byte {
		return func(e *everybody) []byte { return statsPacket(e.token, e.seq, f) }
	}
	all := []func(e *everybody) []byte{
		target(wire.Int(wire.KeyStatsTargetSession, 77)), target(wire.String(wire.KeyStatsTargetHandle, "h_0600")),
		func(e *everybody) []byte {
			return namePacket(wire.GetProfileInfo{Name: wire.Text("other")}, e.token, e.seq)
		},
	}
	for _, row := range everyRequest {
		all = append(all, row.packet)
	}
	return all
}

// TestEveryRequestEnds: whatever the store answers, to whichever load first, and whatever
// changes meanwhile, each request is answered after a few loads, and loads nothing twice.
func TestEveryRequestEnds(t *testing.T) {
	t.Parallel()
	house := func(own string) *Configure {
		c, err := config.Load("test.conf", `(def min-boards 2)
(defprofile own ((def port 1001) `+own+`))
(defprofile other ((def port 1002) (def advertise 1) (def tos-text "be kinder")))`, config.Params{})
		if err != nil {
			t.Fatal(err)
		}
		return &Configure{Config: c.Profile("own")}
	}
	variants := []struct {
		name    string
		configs []*Configure // one after the other, before each answer
	}{
		{"plain", []*Configure{house("")}},
		{"one player at a time", []*Configure{house("(def max-players 1)")}},
		{"terms", []*Configure{house(`(def tos-text "be kind")`)}},
		{"terms that change", []*Configure{house(`(def tos-text "be kind")`), house(`(def tos-text "be good")`)}},
	}
	tokens := []struct {
		name  string
		token func(r *rig) wamble.Token
	}{
		{"invented", func(*rig) wamble.Token { return wamble.Token{9, 9} }},
		{"stored", func(r *rig) wamble.Token { return tokenOf(r.store.enlist(500, 1200, epoch).Token) }},
		{"none", func(*rig) wamble.Token { return wamble.Token{} }},
		{"in memory", func(r *rig) wamble.Token { token, _ := r.join(5); return token }},
	}
	runs := 0
	for _, v := range variants {
		for i, packet := range coldRequests() {
			for _, who := range tokens {
				choices := []int{}
				for more := true; more; runs++ {
					name := fmt.Sprintf("%s: request %d, token %s, answers %v", v.name, i, who.name, choices)
					made := runLoads(t, name, v.configs, who.token, packet, choices)
					choices, more = following(made)
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

// choice is one that was made out of several.
type choice struct{ made, of int }

// following returns the next choices in order, if there are any.
func following(made []choice) (next []int, more bool) {
	for len(made) > 0 && made[len(made)-1].made == made[len(made)-1].of-1 {
		made = made[:len(made)-1]
	}
	for _, c := range made {
		next = append(next, c.made)
	}
	if len(next) > 0 {
		next[len(next)-1]++
	}
	return next, len(next) > 0
}

// runLoads sends a request, another one of the same token behind it, and a hello of another
// player, and answers their loads as choices say, the first way after they end. It returns
// the choices that were offered.
func runLoads(t *testing.T, name string, configs []*Configure, token func(*rig) wamble.Token,
	packet func(*everybody) []byte, choices []int) (made []choice) {
	t.Helper()
	r := &rig{t: t, now: epoch, store: newMemory()}
	r.options = Options{Config: configs[0].Config, Seed: [32]byte{1}, Now: epoch, LeaseSize: 100}
	r.p = New(r.options)
	r.boot()
	e := &everybody{rig: r, token: token(r), board: 99, seq: 20, by: standardSigner(3)}
	first, second := wamble.Peer{Addr: peerAt(1).Addr, Route: 1}, wamble.Peer{Addr: peerAt(2).Addr, Route: 2}
	if r.p.sessions.Find(e.token) != nil { // the proof of a login needs its challenge
		r.step(&Packet{Peer: first, Data: challengePacket(e.token, 19, e.by.key)})
		for _, s := range r.sent {
			var p wire.Packet
			if m, ok := p.Message.(*wire.LoginChallenge); p.Decode(s.packet) == nil && ok {
				e.challenge = m.Challenge
			}
		}
	}
	r.sent = nil
	r.step(&Packet{Peer: first, Data: packet(e)})
	r.step(&Packet{Peer: first, Data: statsPacket(e.token, 21, wire.Int(wire.KeyStatsTargetSession, 78))})
	r.step(&Packet{Peer: second, Data: helloPacket(tokenOf(r.store.enlist(501, 1200, epoch).Token), 1)})
	choose := func(of int) int {
		c := choice{0, of}
		if len(made) < len(choices) {
			c.made = choices[len(made)]
		}
		made = append(made, c)
		return c.made
	}
	loads, seen := 0, map[Load]int{}
	for len(r.loads) > 0 {
		if loads++; loads > 9 { // three each: the session, the terms, and what the request is about
			t.Fatalf("%s: the requests never end; the last load is %+v", name, r.loads[0])
		}
		at := 0
		if len(r.loads) > 1 && loads == 1 {
			at = choose(2) * (len(r.loads) - 1)
		}
		l := r.loads[at]
		r.loads = slices.Delete(r.loads, at, at+1)
		same := l
		if same.ID = 0; seen[same] == 2 { // two requests have this token
			t.Errorf("%s: asked three times for %+v", name, same)
		}
		seen[same]++
		r.step(configs[loads%len(configs)])
		r.step(r.store.answerAs(l, Outcome(choose(outcomes))))
		r.settle()
	}
	r.settle()
	for _, want := range []struct {
		to  wamble.Peer
		seq uint32
	}{{first, 20}, {first, 21}, {second, 1}} {
		if e.token.IsZero() && want.to == first {
			continue // link drops most of them
		}
		if !slices.ContainsFunc(r.sent, func(s sent) bool {
			h, _ := wire.Peek(s.packet)
			return s.to == want.to && h.Ctrl == wire.CtrlAck && h.Seq == want.seq
		}) {
			t.Errorf("%s: request %d of %v was never answered", name, want.seq, want.to)
		}
	}
	if n := len(r.p.loads.byID) + len(r.p.loads.byToken); n > 0 {
		t.Errorf("%s: %d loads are under way, and nobody will answer them", name, n)
	}
	return made
}

// TestForgedStats: one packet with an invented token, about a target who is not in memory,
// costs one load; also when an older process, whose requests never ended, hands it over.
func TestForgedStats(t *testing.T) {
	for name, target := range map[string]wire.Field{
		"session": wire.Int(wire.KeyStatsTargetSession, 77), "handle": wire.String(wire.KeyStatsTargetHandle, "h_0600"),
	} {
		r := newRig(t, "(def min-boards 1)")
		r.step(&Packet{Peer: peerAt(1), Data: statsPacket(wamble.Token{9, 9}, 1, target)})
		next := handOver(t, r)
		for image, r := range map[string]*rig{"the first image": r, "the next image": next} {
			loads := 0
			for ; len(r.loads) > 0 && loads < 10; loads++ {
				l := r.loads[0]
				r.loads = r.loads[1:]
				r.step(r.store.answer(l))
			}
			if loads != 1 || r.p.Gauges().Loading > 0 {
				t.Errorf("%s, %s: %d loads for one packet, want 1", name, image, loads)
			}
			if got := r.took(); !strings.HasPrefix(got, "ACK 1\nERROR 1007") {
				t.Errorf("%s, %s: got %s", name, image, got)
			}
		}
	}
}
