package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"wamble"
)

// TestTokensOfShard: a shard draws tokens of its own, for newcomers and for logins.
func TestTokensOfShard(t *testing.T) {
	shard := wamble.Shard{Index: 3, Of: 4}
	r := newRig(t, func(o *Options) { o.Shard = shard })
	s := r.hello()
	before := s.Token()
	if err := r.RenewToken(r.now, s, &r.said); err != nil || s.Token() == before {
		t.Fatalf("the token was not renewed: %v", err)
	}
	if !shard.Owns(before) || !shard.Owns(s.Token()) {
		t.Errorf("%v and %v are of other shards", before, s.Token())
	}
}

func TestHelloIsIdempotent(t *testing.T) {
	r := newRig(t, nil)
	here, there := peer("192.0.2.1:5000"), peer("192.0.2.1:5001")
	ws := here
	ws.Route = 3
	hello := func(from wamble.Peer, seq uint32) *Session {
		t.Helper()
		s, _, err := r.Hello(r.now, from, seq, r.holds, &r.said)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := hello(here, 1)
	r.after(59 * time.Second) // far beyond any cache of answers
	if got := hello(here, 1); got != first {
		t.Error("the same hello made another session")
	}
	for name, other := range map[string]*Session{"another number": hello(here, 2), "another port": hello(there, 1),
		"another connection": hello(ws, 1)} {
		if other == first {
			t.Errorf("%s: the same session", name)
		}
	}
	r.NoteActivity(r.now, first, &r.said)
	if got := hello(here, 1); got == first {
		t.Error("the session was heard of, and given to another")
	}
	r.expect("create 1", "create 2", "create 3", "create 4", "create 5")
}

func TestUnconfirmedIsFreedEarly(t *testing.T) {
	r := newRig(t, nil)
	lost, kept := r.hello(), r.hello()
	token := lost.Token()
	r.after(30 * time.Second)
	r.NoteActivity(r.now, kept, &r.said)
	if at, ok := r.Next(); !ok || !at.Equal(epoch.Add(time.Minute)) {
		t.Errorf("next at %s, %v", at, ok)
	}
	r.after(30 * time.Second)
	got := r.Due(r.now, r.holds, nil)
	if len(got) != 1 || got[0] != (Ended{1, token, Unconfirmed}) {
		t.Errorf("ended: %+v", got)
	}
	if r.Find(token) != nil || r.Present() != 1 || kept.Fresh() {
		t.Error("the wrong session was freed")
	}
	check(t, r.Table)
}

func TestNewSessionsPerHost(t *testing.T) {
	r := newRig(t, func(o *Options) { o.NewPerHost = 3 })
	try := func(address string) error {
		r.seq++
		_, _, err := r.Hello(r.now, peer(address), r.seq, r.holds, silence{})
		return err
	}
	for _, tc := range []struct {
		name, address string
		wait          time.Duration
		want          error
	}{
		{"first", "192.0.2.1:1", 0, nil},
		{"other port", "192.0.2.1:2", 0, nil},
		{"mapped", "[::ffff:192.0.2.1]:2", 0, nil},
		{"fourth", "192.0.2.1:3", 0, ErrHostLimit},
		{"neighbour", "192.0.2.2:3", 0, nil},
		{"before a third of a minute", "192.0.2.1:3", 19 * time.Second, ErrHostLimit},
		{"after it", "192.0.2.1:3", 2 * time.Second, nil},
		{"and no more", "192.0.2.1:3", 0, ErrHostLimit},
		{"v6", "[2001:db8::1]:1", 0, nil},
		{"v6", "[2001:db8::2]:1", 0, nil},
		{"v6 with a zone", "[2001:db8::3%eth0]:1", 0, nil},
		{"same /56", "[2001:db8:0:ff::4]:1", 0, ErrHostLimit},
		{"other /56", "[2001:db8:0:100::1]:1", 0, nil},
	} {
		r.after(tc.wait)
		if err := try(tc.address); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if _, _, err := r.Hello(r.now, wamble.Peer{}, 1, r.holds, silence{}); !errors.Is(err, ErrHostLimit) {
		t.Errorf("no address: %v", err)
	}
	var denied *wamble.Denied
	if !errors.As(ErrHostLimit, &denied) || denied.Code != wamble.AccessDenied {
		t.Errorf("%v is no refusal", ErrHostLimit)
	}
}

func TestHostsAreBounded(t *testing.T) {
	h := newHosts()
	first := peer("10.0.0.0:1")
	if !h.admit(0, first, 1) || h.admit(0, first, 1) {
		t.Fatal("one and no more")
	}
	for i := range maxHosts {
		h.admit(0, wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8),
			byte(i)}), 1)}, 1)
	}
	if h.sessions[0].Len() != maxHosts {
		t.Errorf("%d hosts", h.sessions[0].Len())
	}
	if !h.admit(0, first, 1) {
		t.Error("the host that was longest quiet is not forgotten")
	}
	if !h.admit(0, first, 0) {
		t.Error("0 is a bound")
	}
}

func TestTokens(t *testing.T) {
	known := bytes.Repeat([]byte{7}, 16)
	for _, tc := range []struct {
		name    string
		entropy []byte
		want    wamble.Token
		err     error
	}{
		{"zero is drawn again", append(make([]byte, 16), bytes.Repeat([]byte{8}, 16)...), wamble.Token(bytes.Repeat([]byte{8}, 16)), nil},
		{"a known one is drawn again", append(bytes.Clone(known), bytes.Repeat([]byte{9}, 16)...), wamble.Token(bytes.Repeat([]byte{9}, 16)), nil},
		{"only zeros", make([]byte, 16*4), wamble.Token{}, ErrEntropy},
		{"none left", nil, wamble.Token{}, io.EOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := defaultOptions()
			o.TokenAttempts = 4
			tb := New(o, numbers(), io.MultiReader(bytes.NewReader(known), bytes.NewReader(tc.entropy)))
			if _, _, err := tb.Hello(epoch, peer("192.0.2.1:1"), 1, nil, silence{}); err != nil {
				t.Fatal(err)
			}
			s, _, err := tb.Hello(epoch, peer("192.0.2.1:1"), 2, nil, silence{})
			if !errors.Is(err, tc.err) || err == nil && s.Token() != tc.want {
				t.Errorf("got %v", err)
			}
			check(t, tb)
		})
	}
}

func TestNoNumberForASession(t *testing.T) {
	ids := numbers()
	ids.Session = func() (wamble.SessionID, bool) { return 0, false }
	tb := New(defaultOptions(), ids, entropy(1))
	if _, _, err := tb.Hello(epoch, peer("192.0.2.1:1"), 1, nil, silence{}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if tb.Len() != 0 {
		t.Error("a session without a number")
	}
}

func TestDiscard(t *testing.T) {
	r := newRig(t, nil)
	s := r.hello()
	r.Discard(s)
	if r.Len() != 0 || r.Refused(s.Token()) {
		t.Error("something is left of it")
	}
	check(t, r.Table)
}

// The coldest session that may go is dropped for a new one.
func TestMaxPlayers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		before  func(r *rig, s []*Session)
		evicted wamble.SessionID
	}{
		{"the coldest goes", func(r *rig, s []*Session) {}, 1},
		{"who was heard stays", func(r *rig, s []*Session) { r.NoteActivity(r.now, s[0], silence{}) }, 2},
		{"who holds a board stays", func(r *rig, s []*Session) { r.board[1] = true; r.board[2] = true }, 3},
		{"whose intents are not applied stays", func(r *rig, s []*Session) { r.Wrote(s[0], 10); r.Applied(9) }, 2},
		{"applied", func(r *rig, s []*Session) { r.Wrote(s[0], 10); r.Applied(10) }, 1},
		{"all hold a board", func(r *rig, s []*Session) { r.board = map[wamble.SessionID]bool{1: true, 2: true, 3: true} }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.MaxPlayers = 3 })
			var all []*Session
			for range 3 {
				all = append(all, r.heard())
				r.after(time.Second)
			}
			tc.before(r, all)
			s, _, err := r.Hello(r.now, peer("192.0.2.9:1"), 1, r.holds, silence{})
			if tc.evicted == 0 {
				if !errors.Is(err, ErrFull) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || r.ByID(tc.evicted) != nil || r.Present() != 3 || s == nil {
				t.Errorf("%v; %d is %s", err, tc.evicted, r.listOf(tc.evicted))
			}
			check(t, r.Table)
		})
	}
}

// Sessions that are never confirmed cannot keep others out for long.
func TestFreshSessionsFillTheTable(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxPlayers = 2 })
	r.hello()
	r.hello()
	if _, _, err := r.Hello(r.now, peer("192.0.2.9:1"), 1, r.holds, silence{}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	r.after(time.Minute)
	r.Due(r.now, r.holds, nil)
	r.hello()
}

func TestAdmit(t *testing.T) {
	token := wamble.Token{1}
	stored := wamble.Session{
		ID: 50, Token: token.Hash(), Trust: 3, Created: epoch.Add(-time.Hour), LastSeen: epoch.Add(-time.Minute),
		Stats: wamble.Stats{Score: 5, Games: 4},
	}
	for _, tc := range []struct {
		name   string
		change func(*rig, *wamble.Session)
		want   error
	}{
		{"anonymous", func(r *rig, s *wamble.Session) {}, nil},
		{"just not expired", func(r *rig, s *wamble.Session) { s.LastSeen = epoch.Add(-24 * time.Hour) }, nil},
		{"expired", func(r *rig, s *wamble.Session) { s.LastSeen = epoch.Add(-24*time.Hour - time.Second) }, ErrEnded},
		{"expired, with an identity", func(r *rig, s *wamble.Session) { s.LastSeen, s.Key = epoch.Add(-48*time.Hour), wamble.PublicKey{1} }, nil},
		{"over", func(r *rig, s *wamble.Session) { r.refused.Use(token.Hash()) }, ErrEnded},
		{"no number", func(r *rig, s *wamble.Session) { s.ID = 0 }, ErrEnded},
		{"no token", func(r *rig, s *wamble.Session) { s.Token = wamble.TokenHash{} }, ErrEnded},
		{"another token", func(r *rig, s *wamble.Session) { s.Token = wamble.Token{2}.Hash() }, ErrEnded},
		{"full", func(r *rig, s *wamble.Session) { r.opts.MaxPlayers = 1; r.hello() }, ErrFull},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			in := stored
			tc.change(r, &in)
			s, err := r.Admit(r.now, token, &in, nil, r.holds)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			check(t, r.Table)
			if err != nil {
				return
			}
			if s.ID() != 50 || r.Find(token) != s || s.Trust() != 3 || s.Games().All != 4 || s.Fresh() ||
				!timeOf(s.times.created).Equal(in.Created) {
				t.Errorf("%+v", s)
			}
			if again, err := r.Admit(r.now, token, &in, nil, r.holds); again != s || err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}

func TestHeardIsKeptOnceAMinute(t *testing.T) {
	r := newRig(t, nil)
	s := r.hello()
	r.expect("create 1")
	for range 59 {
		r.after(time.Second)
		r.NoteActivity(r.now, s, &r.said)
	}
	r.expect()
	r.after(time.Second)
	r.NoteActivity(r.now, s, &r.said)
	r.expect("seen 1")
	r.NoteActivity(r.now, s, &r.said)
	r.expect()
	if !s.Seen().Equal(r.now) {
		t.Errorf("seen at %s", s.Seen())
	}
}

func TestSessionsOfManyHosts(t *testing.T) {
	r := newRig(t, nil)
	seen := map[wamble.Token]bool{}
	for i := range 1000 {
		s, _, err := r.Hello(r.now, peer(fmt.Sprintf("10.0.%d.%d:1", i/250, i%250)), 1, r.holds, silence{})
		if err != nil {
			t.Fatal(err)
		}
		seen[s.Token()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d tokens", len(seen))
	}
}

// Hellos in datagrams, which may be forged, use up nothing of what connections
// from the same host may make.
func TestForgedHellosSpendNothingOfConnections(t *testing.T) {
	r := newRig(t, func(o *Options) { o.NewPerHost = 3 })
	for seq := range uint32(10) {
		r.Hello(r.now, peer("192.0.2.1:5000"), seq, r.holds, silence{})
	}
	over := peer("192.0.2.1:6000")
	over.Route = 1
	if _, isNew, err := r.Hello(r.now, over, 1, r.holds, silence{}); err != nil || !isNew {
		t.Errorf("over a connection: new %v, %v", isNew, err)
	}
}

// TestConnectionIsSomebody: a session that said hello over a connection is not dropped as an
// unconfirmed one.
func TestConnectionIsSomebody(t *testing.T) {
	r := newRig(t, nil)
	there := peer("192.0.2.1:1")
	there.Route = 1
	if _, _, err := r.Hello(r.now, there, 1, r.holds, silence{}); err != nil {
		t.Fatal(err)
	}
	if s := r.Unconfirmed(nil, nil); s != nil {
		t.Errorf("session %d makes room, though its connection is there", s.ID())
	}
	forged, _, err := r.Hello(r.now, peer("192.0.2.2:1"), 1, r.holds, silence{})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Unconfirmed(nil, nil); s != forged {
		t.Error("a hello by a datagram that nobody confirmed does not make room")
	}
}
