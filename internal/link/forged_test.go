package link

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// kinds makes a packet of every kind that can be sent.
var kinds = map[wire.Control]func(wire.Header) []byte{
	wire.CtrlClientHello: func(h wire.Header) []byte { return encode(h, wire.ClientHello{}) },
	wire.CtrlPlayerMove: func(h wire.Header) []byte {
		return encode(h,
			wire.PlayerMove{UCI: must(wire.MakeUCI("e2e4"))})
	},
	wire.CtrlAck:           func(h wire.Header) []byte { return encode(h, wire.Ack{}) },
	wire.CtrlListProfiles:  func(h wire.Header) []byte { return encode(h, wire.ListProfiles{}) },
	wire.CtrlClientGoodbye: func(h wire.Header) []byte { return encode(h, wire.ClientGoodbye{}) },
	wire.CtrlSpectateGame:  func(h wire.Header) []byte { return encode(h, wire.SpectateGame{}) },
	wire.CtrlLoginRequest:  func(h wire.Header) []byte { return encode(h, wire.LoginRequest{PublicKey: wire.Key{1}}) },
	wire.CtrlLogout:        func(h wire.Header) []byte { return encode(h, wire.Logout{}) },
	wire.CtrlGetPlayerStats: func(h wire.Header) []byte {
		return encode(h, wire.GetPlayerStats{})
	},
	wire.CtrlGetProfileInfo: func(h wire.Header) []byte {
		return encode(h,
			wire.GetProfileInfo{Name: wire.Text("open")})
	},
	wire.CtrlSpectateStop:   func(h wire.Header) []byte { return encode(h, wire.SpectateStop{}) },
	wire.CtrlGetLegalMoves:  func(h wire.Header) []byte { return encode(h, wire.GetLegalMoves{}) },
	wire.CtrlGetLeaderboard: func(h wire.Header) []byte { return encode(h, wire.GetLeaderboard{Limit: 10}) },
	wire.CtrlSubmitPrediction: func(h wire.Header) []byte {
		return encode(h,
			wire.SubmitPrediction{UCI: must(wire.MakeUCI("e2e4"))})
	},
	wire.CtrlGetPredictions:   func(h wire.Header) []byte { return encode(h, wire.GetPredictions{}) },
	wire.CtrlGetProfileTOS:    func(h wire.Header) []byte { return encode(h, wire.GetProfileTOS{}) },
	wire.CtrlAcceptProfileTOS: func(h wire.Header) []byte { return encode(h, wire.AcceptProfileTOS{}) },
	wire.CtrlGetActiveReservations: func(h wire.Header) []byte {
		return encode(h, wire.GetActiveReservations{})
	},
	wire.CtrlGetSessions:    func(h wire.Header) []byte { return encode(h, wire.GetSessions{}) },
	wire.CtrlSetName:        func(h wire.Header) []byte { return encode(h, wire.SetName{Name: wire.Text("Ann")}) },
	wire.CtrlRevokeSessions: func(h wire.Header) []byte { return encode(h, wire.RevokeSessions{}) },
	wire.CtrlBoardUpdate:    func(h wire.Header) []byte { return encode(h, wire.BoardUpdate{}) }, // what only servers send
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// forger sends packets from alice's address, without alice's token. It may have a token of
// its own. That one can prove an address that has not proven itself (the threat model in
// docs/operations.md says why), so it is used afterwards.
type forger struct {
	rng    *rand.Rand
	own    wamble.Token
	proven func() bool
}

func (f *forger) packet(kinds []func(wire.Header) []byte) []byte {
	near := tokenA
	near[15] ^= 1
	invented := wamble.Token{0xC0, byte(f.rng.Uint32())}
	tokens := []wamble.Token{{}, {}, near, invented, {0xD0}, f.own}
	seqs := []uint32{0, 1, 2, 3, uint32(f.rng.IntN(60)), 5000, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1, f.rng.Uint32()}
	h := wire.Header{Token: tokens[f.rng.IntN(len(tokens))], Board: 42, Seq: seqs[f.rng.IntN(len(seqs))]}
	if h.Token == f.own && !f.proven() {
		h.Token = invented
	}
	if f.rng.IntN(5) == 0 {
		h.Flags = wire.FlagUnreliable
	}
	b := kinds[f.rng.IntN(len(kinds))](h)
	if h.Token.IsZero() && slices.Equal(b, hello(wamble.Token{}, 1)) {
		return f.packet(kinds) // a copy of alice's own packet
	}
	return b
}

// TestForgedPacketsChangeNothing plays the same game twice, once with packets of
// all kinds between, from the player's own address, without its token. The player
// sees the same packets at the same times.
func TestForgedPacketsChangeNothing(t *testing.T) {
	for _, c := range wire.Controls() {
		if info, _ := c.Info(); info.From != wire.FromServer && kinds[c] == nil {
			t.Errorf("no packet of kind %v", c)
		}
	}
	from, to := seeds(t, 5000, 300)
	t.Logf("seeds %d to %d", from, to-1)
	repeated := uint64(0)
	for seed := from; seed < to; seed++ {
		want, _ := playForged(t, seed, false)
		got, s := playForged(t, seed, true)
		repeated += s.Repeated
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("WAMBLE_SEED=%d: from packet %d on alice sees\n%q\nnot\n%q", seed, i,
					got[min(i, len(got)):min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
			}
		}
	}
	if to-from > 1 && repeated == 0 {
		t.Errorf("no packet was sent again: the proof says nothing about timers")
	}
}

// playForged plays one game of alice, and returns what alice's client receives.
func playForged(t *testing.T, seed uint64, forged bool) (seen []string, stats Stats) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var made []func(wire.Header) []byte
	for _, c := range wire.Controls() {
		if kinds[c] != nil {
			made = append(made, kinds[c])
		}
	}
	r := newRig(t, Config{})
	f := forger{rand.New(rand.NewPCG(seed, 2)), tokenB, func() bool {
		path := r.s.table.paths[alice]
		return path != nil && path.proof.proven
	}}
	honest, spare := true, byte(0)
	r.handler = func(id Request, p *wire.Packet) {
		switch {
		case p.Token == tokenA || p.Token == tokenB:
			r.s.Vouch(id)
		case p.Ctrl == wire.CtrlClientHello && !honest:
			spare++
			p.Token = wamble.Token{0xE0, spare, byte(r.gate)} // a new player
		}
		r.answer(id, p)
	}
	var open []uint32 // packets that alice has not acknowledged
	look := func() {
		for i := range r.out.Len() {
			to, b := r.out.At(i)
			h, _ := wire.Peek(b)
			if to != alice || h.Token != tokenA {
				continue
			}
			seen = append(seen, fmt.Sprintf("%v %v %d of %d bytes", r.now, h.Ctrl, h.Seq, len(b)))
			if h.Ctrl != wire.CtrlAck && !h.Flags.Unreliable() {
				open = append(open, h.Seq)
			}
		}
		r.out.Reset()
	}
	forge := func() {
		honest = false
		for n := f.rng.IntN(8); forged && n > 0; n-- {
			r.send(alice, f.packet(made))
			look()
		}
		honest = true
	}
	r.send(bob, hello(tokenB, 1)) // another player
	r.send(bob, move(tokenB, 2))
	r.send(alice, hello(wamble.Token{}, 1))
	look()
	forge()
	seq, last := uint32(1), []byte(nil)
	for range 60 {
		forge()
		switch n := rng.IntN(12); {
		case n < 5:
			seq += 1 + uint32(rng.IntN(8)/7)
			last = move(tokenA, seq)
			r.send(alice, last)
		case n == 5:
			seq++
			r.send(alice, terms(tokenA, seq))
		case n == 6 && last != nil:
			r.send(alice, last) // its ACK was lost
		case n == 7:
			seq++
			r.send(alice, unreliable(move(tokenA, seq)))
		case n == 8:
			r.s.Push(tokenA, encode(wire.Header{Token: tokenA}, wire.BoardUpdate{}), r.gate)
			r.s.Release(r.now, r.gate, &r.out)
		case len(open) > 0:
			i := rng.IntN(len(open))
			r.send(alice, ack(tokenA, open[i]))
			open = slices.Delete(open, i, i+1)
		}
		look()
		forge()
		pause := time.Duration(rng.IntN(300)) * time.Millisecond
		if rng.IntN(8) == 0 {
			pause *= 250 // longer than restartAfter and idleProven
		}
		for end := r.now + pause; r.now < end; { // each timer at its own time
			step := end - r.now
			if at, ok := r.s.Next(); ok && at > r.now {
				step = min(step, at-r.now)
			}
			r.wait(step)
			look()
		}
	}
	return seen, r.s.Stats()
}

// One datagram with a far number, of any kind and without alice's token, does not stall
// alice: the next request is new, its copy a duplicate, and pushes arrive.
func TestForgedFarNumberStallsNobody(t *testing.T) {
	for c, make := range kinds {
		for name, token := range map[string]wamble.Token{"invented": {0xC0}, "zero": {}, "somebody else's": tokenB} {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				r := newRig(t, Config{})
				r.prove(alice)
				r.send(bob, hello(tokenB, 1))
				r.send(bob, move(tokenB, 2))
				r.handler = func(id Request, p *wire.Packet) {
					if p.Token.IsZero() {
						p.Token = wamble.Token{0xE0} // a new player
					}
					r.answer(id, p)
				}
				r.send(alice, make(wire.Header{Token: token, Seq: 1 << 20}))
				r.took()
				if got := r.send(alice, move(tokenA, 3)); got != New {
					t.Errorf("alice's move: got verdict %d, want New", got)
				}
				r.sees("ACK 3, BOARD_UPDATE 1")
				if got := r.send(alice, move(tokenA, 3)); got != Duplicate {
					t.Errorf("its copy: got verdict %d, want Duplicate", got)
				}
				if n := r.s.Push(tokenA, move(tokenA, 0), r.gate); n != 1 {
					t.Errorf("a push reaches %d sessions of alice, want 1", n)
				}
			})
		}
	}
}

// A request without a token has no window: it is answered, whatever numbers came before from
// its address.
func TestQuestionsWithoutTokenHaveNoWindow(t *testing.T) {
	list := func(seq uint32) []byte { return encode(wire.Header{Seq: seq}, wire.ListProfiles{}) }
	r := newRig(t, Config{})
	r.prove(alice)
	r.send(alice, list(1<<20))
	r.took()
	r.send(alice, list(3))
	r.sees("ACK 3, PROFILES_LIST 2")
	r.send(alice, list(3))
	r.sees("ACK 3, PROFILES_LIST 2")
	r.wait(time.Minute)
	r.took()
	r.send(alice, list(3))
	r.sees("ACK 3, PROFILES_LIST 3")
}

// An ACK without the packet's token does not end its repetition.
func TestForgedAckStopsNoRepetition(t *testing.T) {
	for name, token := range map[string]wamble.Token{"invented": {0xC0}, "zero": {}} {
		r := newRig(t, Config{})
		r.prove(alice)
		r.send(alice, move(tokenA, 3))
		r.took()
		if got := r.send(alice, ack(token, 1)); got != Dropped {
			t.Errorf("%s token: got verdict %d, want Dropped", name, got)
		}
		r.wait(100 * time.Millisecond)
		r.sees("BOARD_UPDATE 1")
	}
}
