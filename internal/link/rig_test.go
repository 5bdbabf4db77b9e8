package link

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

var (
	alice  = peerAt("192.0.2.1:5000")
	bob    = peerAt("192.0.2.2:5000")
	carol  = peerAt("198.51.100.7:41000")
	tokenA = wamble.Token{0xA0, 0xA1, 0xA2, 0xA3}
	tokenB = wamble.Token{0xB0, 0xB1}
)

func peerAt(addr string) wamble.Peer { return wamble.Peer{Addr: netip.MustParseAddrPort(addr)} }

// streamAt is a WebSocket connection.
func streamAt(addr string, route uint32) wamble.Peer {
	return wamble.Peer{Addr: netip.MustParseAddrPort(addr), Route: route}
}

func encode[M wire.Message](h wire.Header, m M, ext ...wire.Field) []byte {
	b, err := wire.Append(nil, h, m, ext...)
	if err != nil {
		panic(err)
	}
	return b
}

func hello(t wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: t, Seq: seq}, wire.ClientHello{})
}

func move(t wamble.Token, seq uint32) []byte {
	uci, _ := wire.MakeUCI("e2e4")
	return encode(wire.Header{Token: t, Board: 42, Seq: seq}, wire.PlayerMove{UCI: uci})
}

func terms(t wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: t, Seq: seq}, wire.GetProfileTOS{})
}

func ack(t wamble.Token, seq uint32) []byte {
	return encode(wire.Header{Token: t, Seq: seq}, wire.Ack{})
}

func unreliable(b []byte) []byte {
	b[1] |= byte(wire.FlagUnreliable)
	return b
}

// rig is a server with a handler that answers at once, and releases at once unless the test
// disables that.
type rig struct {
	t       *testing.T
	s       *Endpoint
	out     Batch
	now     time.Duration
	handler func(Request, *wire.Packet)
	release bool
	gate    uint64
	ran     []string // requests that reached the handler: name and number
	granted wamble.Token
}

func newRig(t *testing.T, cfg Config) *rig {
	r := &rig{t: t, s: NewEndpoint(cfg), release: true, now: time.Second}
	r.handler = r.answer
	return r
}

// answer is the handler: one canned answer for each kind of request.
func (r *rig) answer(id Request, p *wire.Packet) {
	h := wire.Header{Token: p.Token, Board: p.Board}
	var err error
	switch p.Ctrl {
	case wire.CtrlClientHello:
		if h.Token.IsZero() {
			h.Token = tokenA
			if from, _ := r.s.Peer(id); from == bob {
				h.Token = tokenB
			}
		}
		h.Board = 42
		err = Answer(r.s, id, h, wire.ServerHello{FEN: wire.Text(strings.Repeat("p", 150))})
	case wire.CtrlPlayerMove:
		err = Answer(r.s, id, h, wire.BoardUpdate{FEN: wire.Text(strings.Repeat("q", 170))})
	case wire.CtrlGetProfileTOS:
		err = Answer(r.s, id, h, wire.ProfileTOSData{Terms: make([]byte, 3000)})
	case wire.CtrlListProfiles:
		err = Answer(r.s, id, h, wire.ProfilesList{Names: wire.Text("alpha,open")})
	case wire.CtrlSpectateStop:
		err = Answer(r.s, id, h, wire.SpectateUpdate{})
	}
	if err != nil {
		r.t.Fatalf("answer to %v: %v", p.Ctrl, err)
	}
	r.gate++
	r.s.Finish(id, r.gate)
}

// send receives a packet, and runs the handler if it is a new request.
func (r *rig) send(from wamble.Peer, b []byte) Verdict {
	r.t.Helper()
	got := r.s.Receive(r.now, from, b, &r.out)
	if got.Verdict == New {
		r.ran = append(r.ran, fmt.Sprintf("%v %d", got.Packet.Ctrl, got.Packet.Seq))
		r.granted = got.Granted
		r.handler(got.Request, got.Packet)
	}
	if r.release {
		r.s.Release(r.now, r.gate, &r.out)
	}
	return got.Verdict
}

// wait lets time pass, with all the work that is due in it.
func (r *rig) wait(d time.Duration) {
	end := r.now + d
	for {
		at, ok := r.s.Next()
		if !ok || at > end {
			break
		}
		r.now = max(r.now, at)
		r.s.Due(r.now, &r.out)
	}
	r.now = end
}

// took returns what was sent since the last call, one line for each packet, with
// the address only when it is not alice's.
func (r *rig) took() string {
	var lines []string
	for i := range r.out.Len() {
		to, b := r.out.At(i)
		h, err := wire.Peek(b)
		if err != nil {
			r.t.Fatalf("server sent %x: %v", b, err)
		}
		line := fmt.Sprintf("%v %d", h.Ctrl, h.Seq)
		if h.Flags.Unreliable() {
			line += " unreliable"
		}
		if h.Flags&wire.FlagFragment != 0 && h.Ctrl != wire.CtrlProfileTOSData && !h.Flags.Unreliable() {
			line += " fragment"
		}
		if to != alice {
			line += " to " + to.Addr.String()
		}
		lines = append(lines, line)
	}
	r.out.Reset()
	return strings.Join(lines, ", ")
}

// sees checks what was sent since the last check.
func (r *rig) sees(want string) {
	r.t.Helper()
	if got := r.took(); got != want {
		r.t.Errorf("got  %q\nwant %q", got, want)
	}
}

// prove makes peer a proven address with tokenA: an anonymous hello and a second
// request. It uses the numbers 1 and 2, and leaves nothing in the queues.
func (r *rig) prove(peer wamble.Peer) {
	r.t.Helper()
	r.send(peer, hello(wamble.Token{}, 1))
	r.send(peer, ack(tokenA, 1))
	r.send(peer, encode(wire.Header{Token: tokenA, Seq: 2}, wire.Logout{}))
	r.wait(3 * time.Second)
	r.out.Reset()
	r.ran = nil
}
