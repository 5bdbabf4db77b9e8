package link

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// cookieHello is a hello with a cookie, or with space for one.
func cookieHello(t wamble.Token, seq uint32, cookie []byte) []byte {
	b := encode(wire.Header{Token: t, Seq: seq}, wire.ClientHello{}, wire.NoCookie())
	wire.SetCookie(b, cookie)
	return b
}

// cookie says hello without a cookie, and returns the one that is sent back.
func (r *rig) cookie(from wamble.Peer) []byte {
	r.t.Helper()
	r.out.Reset()
	hello := cookieHello(wamble.Token{}, 1, nil)
	if v := r.send(from, hello); v != Challenged || r.out.Len() != 1 {
		r.t.Fatalf("verdict %v, %d packets; want one cookie", v, r.out.Len())
	}
	to, b := r.out.At(0)
	var p wire.Packet
	if err := p.Decode(b); err != nil || p.Ctrl != wire.CtrlError || !p.Flags.Unreliable() || to != from {
		r.t.Fatalf("got %+v to %v (%v), want an unreliable ERROR", p.Header, to, err)
	}
	if len(b) > len(hello) {
		r.t.Errorf("%d bytes are answered with %d", len(hello), len(b))
	}
	cookie := append([]byte(nil), p.Ext.View(wire.KeyHelloCookie)...)
	r.out.Reset()
	return cookie
}

func sealedRig(t *testing.T, cfg Config) *rig {
	r := newRig(t, cfg)
	r.s.SetKey([32]byte{1, 2, 3})
	return r
}

// A hello without a valid cookie is answered with one, and leaves no state; with the cookie
// its address is proven at once.
func TestCookie(t *testing.T) {
	r := sealedRig(t, Config{TokenRate: 1, HostRate: 1})
	var cookie []byte
	for range 100 { // no limit counts them
		cookie = r.cookie(alice)
	}
	if size := r.s.Size(); size != (Size{}) {
		t.Errorf("%+v is remembered", size)
	}
	if v := r.send(alice, cookieHello(wamble.Token{}, 1, cookie)); v != New {
		t.Errorf("verdict %v", v)
	}
	r.sees("ACK 1, SERVER_HELLO 1")
	if got := r.s.Stats(); got.Proven != 1 || got.Cookies != 100 {
		t.Errorf("%d addresses proven, %d cookies", got.Proven, got.Cookies)
	}
}

func TestCookieIsOfOneAddress(t *testing.T) {
	junk := []byte("no hexadecimal digits, but many!")
	for _, tt := range []struct {
		name string
		from wamble.Peer
		wait time.Duration
		junk bool
		want Verdict
	}{
		{"same", alice, 0, false, New},
		{"in time", alice, cookieTime - time.Second, false, New},
		{"too late", alice, cookieTime, false, Challenged},
		{"much too late", alice, 10 * keyTime, false, Challenged},
		{"another port", peerAt("192.0.2.1:5001"), 0, false, Challenged},
		{"another host", bob, 0, false, Challenged},
		{"junk", alice, 0, true, Challenged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sealedRig(t, Config{})
			cookie := r.cookie(alice)
			if tt.junk {
				cookie = junk
			}
			r.wait(tt.wait)
			if v := r.send(tt.from, cookieHello(wamble.Token{}, 1, cookie)); v != tt.want {
				t.Errorf("verdict %v, want %v", v, tt.want)
			}
		})
	}
}

// Connections, clients without support for cookies, and fields that are too short for an
// answer are not asked for one.
func TestNoCookieWanted(t *testing.T) {
	short := encode(wire.Header{Seq: 1}, wire.ClientHello{}, wire.String(wire.KeyHelloCookie, "00"))
	for name, send := range map[string]func(r *rig) Verdict{
		"connection": func(r *rig) Verdict {
			return r.send(streamAt("192.0.2.1:5000", 1), cookieHello(wamble.Token{}, 1, nil))
		},
		"old client":    func(r *rig) Verdict { return r.send(alice, hello(wamble.Token{}, 1)) },
		"short field":   func(r *rig) Verdict { return r.send(alice, short) },
		"other request": func(r *rig) Verdict { return r.send(alice, move(tokenA, 1)) },
	} {
		r := sealedRig(t, Config{})
		if v := send(r); v != New {
			t.Errorf("%s: verdict %v", name, v)
		}
	}
}

// A client answers the challenge by itself, and repeats the hello with the cookie.
func TestClientBringsTheCookie(t *testing.T) {
	r := sealedRig(t, Config{})
	c := NewClient(ClientConfig{})
	var out Batch
	carry := func() (greeted int) {
		for i := range out.Len() {
			_, b := out.At(i)
			r.send(alice, append([]byte(nil), b...))
		}
		out.Reset()
		for i := range r.out.Len() {
			_, b := r.out.At(i)
			if c.Receive(r.now, append([]byte(nil), b...), &out).Greeted {
				greeted++
			}
		}
		r.out.Reset()
		return greeted
	}
	say := func(want int) {
		t.Helper()
		if _, err := c.Send(r.now, &out, cookieHello(wamble.Token{}, 0, nil)); err != nil {
			t.Fatal(err)
		}
		for round := 1; ; round++ {
			if carry() == 1 {
				if round != want {
					t.Errorf("greeted after %d round trips, want %d", round, want)
				}
				return
			}
			if round == 5 {
				t.Fatal("not greeted")
			}
		}
	}
	say(2)
	carry()
	say(1) // it has the cookie
	carry()
	r.wait(cookieTime)
	r.out.Reset()
	say(2)
	if c.Open() != 0 {
		t.Errorf("%d requests wait", c.Open())
	}
}

// A client whose NAT gives it another address with every packet gives up.
func TestClientIsNotChallengedForEver(t *testing.T) {
	r := sealedRig(t, Config{})
	c := NewClient(ClientConfig{Sends: 4})
	var out Batch
	if _, err := c.Send(r.now, &out, cookieHello(wamble.Token{}, 0, nil)); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for port := uint16(1000); out.Len() > 0; port++ {
		sent++
		_, b := out.At(0)
		r.send(wamble.Peer{Addr: netip.AddrPortFrom(alice.IP(), port)}, append([]byte(nil), b...))
		out.Reset()
		_, answer := r.out.At(0)
		c.Receive(r.now, append([]byte(nil), answer...), &out)
		r.out.Reset()
	}
	if sent != 4 {
		t.Errorf("the hello was sent %d times", sent)
	}
}

// A challenge is answered for any copy of the hello: when a server takes the place of
// another, the first copies are lost.
func TestClientBringsTheCookieLate(t *testing.T) {
	for _, tc := range []struct {
		hurry  int
		copies int
	}{{8, 8}, {3, 3}, {0, 6}} {
		for n := range tc.copies {
			r := sealedRig(t, Config{})
			c := NewClient(ClientConfig{})
			c.Hurry(tc.hurry)
			var out Batch
			if _, err := c.Send(r.now, &out, cookieHello(wamble.Token{}, 0, nil)); err != nil {
				t.Fatal(err)
			}
			for range n {
				out.Reset()
				due, _ := c.Next()
				r.wait(due - r.now)
				if lost := c.Due(r.now, &out, nil); len(lost) > 0 {
					t.Fatalf("in a hurry of %d: given up before copy %d", tc.hurry, n+1)
				}
			}
			_, b := out.At(0)
			r.send(alice, append([]byte(nil), b...))
			_, challenge := r.out.At(0)
			out.Reset()
			if c.Receive(r.now, append([]byte(nil), challenge...), &out); out.Len() != 1 {
				t.Errorf("in a hurry of %d: the challenge to copy %d is not answered", tc.hurry, n+1)
			}
		}
	}
}

// An offered token is valid at its address alone, and for a limited time.
func TestOffered(t *testing.T) {
	r := sealedRig(t, Config{})
	var tokens []wamble.Token
	r.handler = func(id Request, p *wire.Packet) {
		tokens = append(tokens, r.s.Offer(id, 7, Program))
		r.s.Finish(id, 0)
	}
	r.send(alice, hello(wamble.Token{}, 1))
	r.send(alice, hello(wamble.Token{}, 2))
	if tokens[0] == tokens[1] || tokens[0].IsZero() {
		t.Fatalf("the tokens are %v", tokens)
	}
	for _, tt := range []struct {
		name  string
		from  wamble.Peer
		token wamble.Token
		wait  time.Duration
		want  bool
	}{
		{"at once", alice, tokens[0], 0, true},
		{"the other", alice, tokens[1], 0, true},
		{"another host", bob, tokens[0], 0, false},
		{"another port", peerAt("192.0.2.1:5001"), tokens[0], 0, false},
		{"no token", alice, wamble.Token{}, 0, false},
		{"somebody's token", alice, tokenA, 0, false},
		{"half an hour later", alice, tokens[0], keyTime, true},
		{"under the next key", alice, tokens[0], keyTime - 2*time.Second, true},
		{"much later", alice, tokens[0], keyTime, false},
	} {
		r.wait(tt.wait)
		r.s.Due(r.now, &r.out)
		o, ok := r.s.Offered(tt.from, tt.token)
		if ok != tt.want || ok && (o.Board != 7 || o.Wishes != Program || o.Age != r.now-time.Second) {
			t.Errorf("%s: got %+v %v, want %v", tt.name, o, ok, tt.want)
		}
	}
	if got, ok := NewEndpoint(Config{}).Offered(alice, tokens[0]); ok {
		t.Errorf("a server without a key knows %+v", got)
	}
}

// A shard offers its own tokens, and recognizes them, also after another key was set.
func TestOfferedByShard(t *testing.T) {
	shard := wamble.Shard{Index: 5, Of: 8}
	r := newRig(t, Config{})
	r.s.SetShard(shard)
	r.s.SetKey([32]byte{1, 2, 3})
	r.handler = func(id Request, p *wire.Packet) {
		token := r.s.Offer(id, 7, 0)
		if o, ok := r.s.Offered(alice, token); !ok || o.Board != 7 || !shard.Owns(token) {
			t.Errorf("%v was offered, and known as %+v, %v", token, o, ok)
		}
		r.s.Finish(id, 0)
	}
	for seq := range uint32(64) {
		r.send(alice, hello(wamble.Token{}, seq+1))
	}
}

// An offered token proves its address, also when its path was evicted meanwhile; a cookie is
// no token.
func TestOfferedTokenProves(t *testing.T) {
	r := sealedRig(t, Config{})
	var token wamble.Token
	r.handler = func(id Request, p *wire.Packet) {
		if token.IsZero() {
			token = r.s.Offer(id, 0, 0)
		}
		r.s.Finish(id, 0)
	}
	r.send(alice, hello(wamble.Token{}, 1))
	r.s.Forget(alice)
	r.send(bob, move(token, 2))
	if got := r.s.Stats().Proven; got != 0 {
		t.Errorf("%d addresses proven by a token of another", got)
	}
	r.send(alice, move(token, 3))
	if got := r.s.Stats().Proven; got != 1 {
		t.Errorf("%d addresses proven, want 1", got)
	}
}

// The keys survive a handoff, wherever the clock of the next process begins.
func TestKeysOutliveAHandoff(t *testing.T) {
	r := sealedRig(t, Config{})
	cookie := r.cookie(alice)
	var token wamble.Token
	r.handler = func(id Request, p *wire.Packet) {
		token = r.s.Offer(id, 9, 0)
		r.s.Finish(id, 0)
	}
	r.send(alice, hello(wamble.Token{}, 1))
	r.wait(keyTime - 10*time.Second)
	r.s.Due(r.now, &r.out)
	keys := r.s.AppendKeys(nil)
	next := sealedRig(t, Config{})
	next.now = 5 * time.Hour
	next.s.Due(next.now, &next.out)
	if err := next.s.RestoreKeys(keys); err != nil {
		t.Fatal(err)
	}
	if o, ok := next.s.Offered(alice, token); !ok || o.Board != 9 || o.Age != keyTime-10*time.Second {
		t.Errorf("got %+v %v", o, ok)
	}
	if v := next.send(alice, cookieHello(wamble.Token{}, 1, cookie)); v != Challenged {
		t.Errorf("verdict %v of an old cookie", v)
	}
	for n := range keys {
		if err := next.s.RestoreKeys(keys[:n]); err == nil {
			t.Errorf("%d of %d bytes are taken for keys", n, len(keys))
		}
	}
}

// Hellos from ever new addresses take a bounded number of places, and the host that
// sends most of them loses its own first.
func TestUnprovenAreBounded(t *testing.T) {
	r := sealedRig(t, Config{})
	r.handler = func(id Request, p *wire.Packet) {
		if err := Answer(r.s, id, wire.Header{Token: r.s.Offer(id, 0, 0)}, wire.ServerHello{}); err != nil {
			t.Fatal(err)
		}
		r.s.Finish(id, 0)
	}
	r.send(bob, hello(wamble.Token{}, 1))
	for i := range uint32(3 * maxUnproven) {
		from := wamble.Peer{Addr: netip.AddrPortFrom(alice.IP(), uint16(1024+i))}
		r.send(from, hello(wamble.Token{}, 1))
		r.out.Reset()
	}
	if got := r.s.Size().Paths; got != maxUnproven {
		t.Errorf("%d endpoints, want %d", got, maxUnproven)
	}
	if r.s.table.paths[bob] == nil {
		t.Error("a host that has one place lost it")
	}
	for i := range uint32(2 * maxUnproven) {
		var ip [4]byte
		binary.BigEndian.PutUint32(ip[:], 10<<24|i)
		r.send(wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), 5000)}, hello(wamble.Token{}, 1))
		r.out.Reset()
	}
	if got := r.s.Size().Paths; got != maxUnproven {
		t.Errorf("%d endpoints, want %d", got, maxUnproven)
	}
}

func TestChallengeIsFree(t *testing.T) {
	r := sealedRig(t, Config{})
	b := cookieHello(wamble.Token{}, 1, nil)
	if n := testing.AllocsPerRun(100, func() {
		r.s.Receive(r.now, alice, b, &r.out)
		r.out.Reset()
	}); n != 0 {
		t.Errorf("a challenge allocates %v times", n)
	}
	token := tokenA
	if n := testing.AllocsPerRun(100, func() { r.s.Offered(alice, token) }); n != 0 {
		t.Errorf("Offered allocates %v times", n)
	}
}

func BenchmarkChallenge(b *testing.B) {
	s := NewEndpoint(Config{})
	s.SetKey([32]byte{1})
	var out Batch
	packet := cookieHello(wamble.Token{}, 1, nil)
	for b.Loop() {
		s.Receive(time.Second, alice, packet, &out)
		out.Reset()
	}
}
