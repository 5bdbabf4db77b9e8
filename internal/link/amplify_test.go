package link

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// auditor accounts independently for what an address may be sent: it sees only packets that
// go in and come out.
type auditor struct {
	t       *testing.T
	s       *Endpoint
	now     time.Duration
	out     Batch
	gate    uint64
	made    uint64
	account map[wamble.Peer]*account
	open    []Request
	excess  int // bytes over threefold, in all
}

type account struct {
	received, sent int
	right          int          // bytes that exempt replies may add
	granted        wamble.Token // said to it by SERVER_HELLO
	foreign        int          // packets with another address's real token
	proven         bool         // it may have proven itself
}

func (a *auditor) of(p wamble.Peer) *account {
	if a.account[p] == nil {
		a.account[p] = &account{}
	}
	return a.account[p]
}

// offer sends b from p, and answers if it is a request.
func (a *auditor) offer(p wamble.Peer, b []byte, size int, later bool) {
	acc := a.of(p)
	acc.received += len(b)
	if h, err := wire.Peek(b); err == nil {
		switch h.Ctrl {
		case wire.CtrlClientHello, wire.CtrlListProfiles, wire.CtrlGetProfileInfo, wire.CtrlGetActiveReservations:
			acc.right += 8 * len(b)
		}
		a.judge(acc, h.Token)
	}
	got := a.s.Receive(a.now, p, b, &a.out)
	if got.Verdict == New {
		a.answer(got, size)
		if later {
			a.open = append(a.open, got.Request)
		} else {
			a.gate++
			a.s.Finish(got.Request, a.gate)
			a.s.Release(a.now, a.gate, &a.out)
		}
	}
	a.check()
}

// judge notes when an address may have proven itself: with the token that it was sent, or
// with the second packet that carries another address's token.
func (a *auditor) judge(acc *account, t wamble.Token) {
	if t.IsZero() {
		return
	}
	if t == acc.granted {
		acc.proven = true
	}
	for _, other := range a.account {
		if other != acc && other.granted == t {
			acc.foreign++
			acc.right += wire.MaxPacket // one reply: a NAT may have moved its owner
			break
		}
	}
	if acc.foreign > 1 {
		acc.proven = true
	}
}

func (a *auditor) answer(got *Received, size int) {
	h := wire.Header{Token: got.Packet.Token, Board: got.Packet.Board}
	var err error
	switch got.Packet.Ctrl {
	case wire.CtrlClientHello:
		a.made++
		binary.BigEndian.PutUint64(h.Token[:], a.made*0x9E3779B97F4A7C15|1)
		if !got.Granted.IsZero() {
			h.Token = got.Granted
		}
		err = Answer(a.s, got.Request, h, wire.ServerHello{FEN: make(wire.Text, size%400)})
	case wire.CtrlListProfiles:
		err = Answer(a.s, got.Request, h, wire.ProfilesList{Names: make(wire.Text, size)})
	case wire.CtrlGetProfileTOS:
		err = Answer(a.s, got.Request, h, wire.ProfileTOSData{Terms: make(wire.Text, size*8)})
	default:
		err = Answer(a.s, got.Request, h, wire.BoardUpdate{FEN: make(wire.Text, size%1100)})
	}
	if err != nil {
		a.t.Fatalf("answer: %v", err)
	}
}

// check adds the sent packets to the accounts.
func (a *auditor) check() {
	for i := range a.out.Len() {
		to, b := a.out.At(i)
		acc := a.of(to)
		if acc.proven {
			continue
		}
		before := max(0, acc.sent-3*acc.received)
		acc.sent += len(b)
		a.excess += max(0, acc.sent-3*acc.received) - before
		if acc.sent > 3*acc.received+acc.right {
			a.t.Fatalf("%v received %d bytes for %d, with a right to %d more", to, acc.sent, acc.received, acc.right)
		}
		if h, err := wire.Peek(b); err == nil && h.Ctrl == wire.CtrlServerHello {
			acc.granted = h.Token
		}
	}
	a.out.Reset()
	if allowed := 4*a.s.cfg.ListenerBudget + int(a.now.Seconds()*float64(a.s.cfg.ListenerBudget)); a.excess > allowed {
		a.t.Fatalf("%d bytes over threefold in %v, the budget allows %d", a.excess, a.now, allowed)
	}
}

// play reads a script of operations: each byte pair is an operation and its
// argument.
func (a *auditor) play(script []byte) {
	peers := []wamble.Peer{alice, bob, carol, peerAt("[2001:db8::1]:9")}
	seq := uint32(0)
	for len(script) >= 2 {
		op, arg := script[0], script[1]
		script = script[2:]
		p := peers[op>>6]
		acc := a.of(p)
		tokens := []wamble.Token{{}, {7}, {7, 7}, acc.granted, a.of(peers[(op>>6+1)%4]).granted}
		token := tokens[int(arg)%len(tokens)]
		if op&1 != 0 {
			seq++
		}
		h := wire.Header{Token: token, Board: 42, Seq: seq, Flags: wire.Flags(op&2) << 6}
		size, later := int(arg)*4, op&4 != 0
		switch op >> 3 & 7 {
		case 0, 1:
			a.offer(p, encode(h, wire.ClientHello{}), size, later)
		case 2:
			a.offer(p, encode(h, wire.ListProfiles{}), size, later)
		case 3:
			a.offer(p, encode(h, wire.GetProfileTOS{}), size, later)
		case 4:
			a.offer(p, move(token, seq), size, later)
		case 5:
			a.offer(p, ack(token, uint32(arg%8)), size, later)
		case 6:
			a.pass(time.Duration(arg) * 20 * time.Millisecond)
			a.s.Push(token, encode(wire.Header{Token: token}, wire.BoardUpdate{FEN: make(wire.Text, size)}), a.gate)
			a.s.Release(a.now, a.gate, &a.out)
			a.check()
		case 7: // the script itself, as bytes from the network
			n := min(int(arg), len(script))
			a.offer(p, script[:n], size, later)
		}
	}
	a.pass(time.Minute)
}

// pass lets time pass and finishes open requests.
func (a *auditor) pass(d time.Duration) {
	a.gate++
	for _, id := range a.open {
		a.s.Finish(id, a.gate)
	}
	a.open = a.open[:0]
	a.s.Release(a.now, a.gate, &a.out)
	a.check()
	end := a.now + d
	for {
		at, ok := a.s.Next()
		if !ok || at > end {
			break
		}
		a.now = max(a.now, at)
		a.s.Due(a.now, &a.out)
		a.check()
	}
	a.now = end
}

func newAuditor(t *testing.T, cfg Config) *auditor {
	return &auditor{t: t, s: NewEndpoint(cfg), account: map[wamble.Peer]*account{}}
}

// FuzzAmplification looks for a sequence of packets that makes the server send
// an unproven address more than it may.
func FuzzAmplification(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 0, 0, 0, 0, 41, 3, 33, 3, 25, 255, 49, 200})
	f.Add([]byte{25, 255, 24, 255, 24, 255, 40, 1, 40, 9, 33, 1, 33, 1, 33, 1})
	f.Add([]byte{0x41, 0, 0x61, 4, 0x61, 4, 0x21, 4, 0x21, 9, 0x29, 9, 0x31, 255})
	f.Add([]byte{57, 34, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 4096 {
			return
		}
		newAuditor(t, Config{}).play(script)
		newAuditor(t, Config{TokenRate: 3, HostRate: 5, ListenerBudget: 500, NetworkBudget: 300,
			MaxPaths: 2}).play(script)
	})
}

// TestAmplificationBound plays random scripts through the same audit.
func TestAmplificationBound(t *testing.T) {
	t.Parallel()
	from, to := seeds(t, 20_000, 1000)
	t.Logf("seeds %d to %d", from, to-1)
	proven, withheld := uint64(0), uint64(0)
	for seed := from; seed < to; seed++ {
		rng := newNetwork(seed, 0).rng
		script := make([]byte, 400)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		a := newAuditor(t, Config{})
		a.play(script)
		proven += a.s.Stats().Proven
		withheld += a.s.Stats().Withheld
	}
	if os.Getenv("WAMBLE_SEED") == "" && (proven == 0 || withheld == 0) {
		t.Errorf("the scripts prove nothing: %d addresses proven, %d packets withheld", proven, withheld)
	}
}

// An address that sees nothing of what it is sent, whatever tokens it invents, never counts
// as proven.
func TestForgedAddressIsNeverProven(t *testing.T) {
	r := newRig(t, Config{})
	r.handler = func(id Request, p *wire.Packet) {
		h := wire.Header{Token: p.Token}
		if p.Ctrl == wire.CtrlClientHello {
			h.Token = tokenA
		}
		if err := Answer(r.s, id, h, wire.BoardUpdate{}); err != nil {
			t.Error(err)
		}
		r.s.Finish(id, 0)
	}
	for seq := range uint32(50) {
		r.send(alice, move(tokenB, seq+1))
		r.send(alice, ack(tokenB, seq+1))
		r.send(alice, ack(wamble.Token{}, seq))
		r.send(alice, hello(tokenB, 100+seq))
	}
	if got := r.s.Stats().Proven; got != 0 {
		t.Errorf("%d addresses proven", got)
	}
}

// A packet for which an unproven address has no credit is sent when the address is proven.
func TestWithheldPacketComesWithTheProof(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, terms(tokenB, 2)) // any token may be in a request
	r.sees("")
	r.send(alice, hello(tokenB, 3))
	r.sees("ACK 3, SERVER_HELLO 1")
	r.send(alice, ack(tokenB, 1))
	r.sees("PROFILE_TOS_DATA 1")
}

// A packet that waits for a proof is dropped after a minute.
func TestWithheldPacketIsGivenUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		wait time.Duration
		want string
	}{
		{"in time", withheldTime - time.Second, "PROFILE_TOS_DATA 1"},
		{"too late", withheldTime + time.Second, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.send(alice, terms(tokenB, 2))
			r.wait(tt.wait)
			r.send(alice, hello(tokenB, 3))
			r.took()
			r.send(alice, ack(tokenB, 1))
			r.sees(tt.want)
		})
	}
}

// A hello entitles to one answer over its credit, not to two.
func TestExemptReplyIsOne(t *testing.T) {
	r := newRig(t, Config{})
	r.handler = func(id Request, p *wire.Packet) {
		for range 2 { // 184 bytes each, less than eight times 34
			if err := Answer(r.s, id, wire.Header{Token: tokenA},
				wire.BoardUpdate{FEN: make(wire.Text, 150)}); err != nil {
				t.Fatal(err)
			}
		}
		r.s.Finish(id, 0)
	}
	r.send(alice, hello(wamble.Token{}, 1))
	r.sees("ACK 1, BOARD_UPDATE 1")
}

// Room returns how long an answer may be.
func TestRoom(t *testing.T) {
	r := newRig(t, Config{})
	var got []int
	r.handler = func(id Request, p *wire.Packet) {
		got = append(got, r.s.Room(id))
		r.answer(id, p)
	}
	r.send(alice, hello(wamble.Token{}, 1)) // 34 bytes: eightfold
	r.send(bob, move(tokenB, 1))            // 39 bytes: threefold, less the ACK
	r.send(alice, move(tokenA, 2))          // proven
	want := []int{272, 83, wire.MaxPacket}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestBudgetOfANetwork(t *testing.T) {
	r := newRig(t, Config{NetworkBudget: 100}) // 400 bytes at once: two hellos
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(bob, hello(wamble.Token{}, 1))
	r.took()
	third := peerAt("192.0.2.3:5000")
	r.send(third, hello(wamble.Token{}, 1))
	r.sees("")
	r.send(carol, hello(wamble.Token{}, 1)) // another /24
	r.sees("ACK 1 to 198.51.100.7:41000, SERVER_HELLO 1 to 198.51.100.7:41000")
	r.now += 2 * time.Second
	r.send(third, hello(wamble.Token{}, 1))
	r.sees("ACK 1 to 192.0.2.3:5000, SERVER_HELLO 1 to 192.0.2.3:5000")
}

// A request that cannot be answered is not acknowledged: its copies raise the credit, and one of the four that an
// old client sends is acknowledged and answered, even after the first answer is no longer kept.
func TestACKOnlyWithItsAnswer(t *testing.T) {
	const answer = "ACK 1, PROFILES_LIST 1"
	for _, tt := range []struct {
		name  string
		names int
		token wamble.Token
		want  [4]string // what follows each copy, after 0, 0.5, 1.5 and 3.5 s
	}{
		{"short", 60, wamble.Token{}, [4]string{answer}},
		{"20 profiles", 219, wamble.Token{}, [4]string{answer}},
		{"30 profiles", 329, wamble.Token{}, [4]string{"", answer}},
		{"40 profiles", 439, tokenB, [4]string{"", "", answer}},
		{"47 profiles", 518, tokenB, [4]string{"", "", "", answer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.handler = func(id Request, p *wire.Packet) {
				names := wire.ProfilesList{Names: wire.Text(strings.Repeat("n", tt.names))}
				if err := Answer(r.s, id, wire.Header{Token: p.Token}, names); err != nil {
					t.Fatal(err)
				}
				r.gate++
				r.s.Finish(id, r.gate)
			}
			for i, pause := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second} {
				r.wait(pause)
				r.send(alice, encode(wire.Header{Token: tt.token, Seq: 1}, wire.ListProfiles{}))
				if got := strings.ReplaceAll(r.took(), " fragment", ""); got != tt.want[i] {
					t.Errorf("copy %d: got %q, want %q", i+1, got, tt.want[i])
				}
				if tt.want[i] != "" {
					return
				}
			}
		})
	}
}
