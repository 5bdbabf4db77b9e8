package profile

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/blake2b"

	"wamble"
	"wamble/wire"
)

// signer is a private key, of the standard or of the original's client.
type signer struct {
	key  wamble.PublicKey
	sign func(message []byte) [64]byte
}

func standardSigner(seed byte) signer {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	return signer{wamble.PublicKey(private.Public().(ed25519.PublicKey)), func(m []byte) [64]byte {
		return [64]byte(ed25519.Sign(private, m))
	}}
}

// originalSigner is EdDSA with BLAKE2b-512, as the client in C has it.
func originalSigner(seed byte) signer {
	wide := blake2b.Sum512(bytes.Repeat([]byte{seed}, 32))
	a, _ := new(edwards25519.Scalar).SetBytesWithClamping(wide[:32])
	public := new(edwards25519.Point).ScalarBaseMult(a).Bytes()
	scalar := func(parts ...[]byte) *edwards25519.Scalar {
		sum := blake2b.Sum512(bytes.Join(parts, nil))
		s, _ := new(edwards25519.Scalar).SetUniformBytes(sum[:])
		return s
	}
	return signer{wamble.PublicKey(public), func(m []byte) [64]byte {
		r := scalar(wide[32:], m)
		point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
		s := new(edwards25519.Scalar).MultiplyAdd(scalar(point, public, m), a, r)
		return [64]byte(append(point, s.Bytes()...))
	}}
}

func challengePacket(token wamble.Token, seq uint32, key wamble.PublicKey) []byte {
	return encode(wire.Header{Token: token, Seq: seq}, wire.LoginRequest{PublicKey: wire.Key(key)})
}

func proofPacket(token wamble.Token, seq uint32, key wamble.PublicKey, signature [64]byte) []byte {
	s := wire.Signature(signature)
	return encode(wire.Header{Token: token, Seq: seq}, wire.LoginRequest{PublicKey: wire.Key(key), Signature: &s})
}

// challenged asks for a challenge and returns it.
func (r *rig) challenged(from wamble.Peer, token wamble.Token, seq uint32, key wamble.PublicKey) [32]byte {
	r.t.Helper()
	var p wire.Packet
	if err := p.Decode(r.reply(from, challengePacket(token, seq, key))); err != nil {
		r.t.Fatal(err)
	}
	m, ok := p.Message.(*wire.LoginChallenge)
	if !ok {
		r.t.Fatalf("got %v, want a challenge", p.Ctrl)
	}
	r.send(from, ackPacket(token, p.Seq))
	return m.Challenge
}

// login logs a player in, with the next two numbers, and returns the last answer.
func (r *rig) login(from wamble.Peer, token wamble.Token, seq uint32, by signer) string {
	r.t.Helper()
	challenge := r.challenged(from, token, seq, by.key)
	m := wamble.LoginMessage(by.key, token, challenge)
	got := r.send(from, proofPacket(token, seq+1, by.key, by.sign(m[:])))
	if len(r.loads) > 0 {
		r.answerLoads()
		got = r.took()
	}
	return got
}

func TestLogin(t *testing.T) {
	for name, by := range map[string]signer{"standard": standardSigner(1), "original": originalSigner(1)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2)")
			token, id := r.join(1)
			expect(t, r.login(peerAt(1), token, 2, by), "ACK 3",
				"LOGIN_SUCCESS 08 "+start+" w board "+itoa(uint32(id))+" "+boardKeys)
			s := r.p.sessions.Find(token)
			if i := s.Identity(); i == nil || i.Key() != by.key || !strings.HasPrefix(i.Handle(), "h_") ||
				len(i.Handle()) != 14 || i.Rating() != 1200 {
				t.Errorf("got %+v", i)
			}
			// The login is durable before it is answered, and so known after a crash.
			r.restart()
			expect(t, r.send(peerAt(1), helloPacket(token, 9)), "ACK 9",
				"SERVER_HELLO 0b "+start+" w board "+itoa(uint32(id))+" session.caps reservation.reserved_at board.fen board.version")
			if i := r.p.sessions.Find(token).Identity(); i == nil || i.Key() != by.key {
				t.Errorf("after a restart: %+v", i)
			}
			// When the player leaves, others may take their board; they get it back if nobody
			// has.
			r.send(peerAt(1), encode(wire.Header{Token: token, Seq: 10}, wire.ClientGoodbye{}))
			if r.p.boards.Board(id).Holder() != 0 || r.p.boards.Former(s.ID()) != id {
				t.Error("who is gone holds a board, or does not get it back")
			}
		})
	}
}

// TestLoginSecond: a known identity has the games of all its sessions, and a session can
// change to another one.
func TestLoginSecond(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	by := standardSigner(1)
	r.store.stored(500, by.key, wamble.Stats{Score: 7, Games: 3}, epoch)
	r.store.stored(501, by.key, wamble.Stats{Score: 2, Games: 1}, epoch)
	token, _ := r.join(1)
	r.login(peerAt(1), token, 2, by)
	s := r.p.sessions.Find(token)
	if got := s.Games(); got.All != 4 || s.Identity().Handle() != "h_0500" {
		t.Errorf("got %+v of %s", got, s.Identity().Handle())
	}
	other := originalSigner(2)
	if got := r.login(peerAt(1), token, 4, other); !strings.Contains(got, "LOGIN_SUCCESS") ||
		s.Identity().Key() != other.key {
		t.Errorf("got %s", got)
	}
	// An identity in memory needs no store.
	r.join(9) // something after it, so that the store is past it
	r.apply()
	r.step(&Applied{Seq: r.seq}, &StoreAway{})
	second, _ := r.join(2)
	if got := r.login(peerAt(2), second, 2, other); !strings.Contains(got, "LOGIN_SUCCESS") {
		t.Errorf("during an outage: %s", got)
	}
	// One that is not is refused, and the challenge stays good.
	third, _ := r.join(3)
	challenge := r.challenged(peerAt(3), third, 2, by.key)
	m := wamble.LoginMessage(by.key, third, challenge)
	proof := by.sign(m[:])
	expect(t, r.send(peerAt(3), proofPacket(third, 3, by.key, proof)), "ACK 3", `ERROR 1006 "database away"`)
	r.step(&StoreBack{})
	r.send(peerAt(3), proofPacket(third, 4, by.key, proof))
	r.answerLoads()
	if got := r.took(); !strings.Contains(got, "LOGIN_SUCCESS") {
		t.Errorf("after it: %s", got)
	}
}

func TestLoginRefused(t *testing.T) {
	by, other := standardSigner(1), standardSigner(2)
	failed := func(seq uint32) []string { return []string{"ACK " + itoa(seq), `LOGIN_FAILED 1001 ""`} }
	// small is a key of small order: every signature with R = identity and S = 0
	// would be good.
	small := wamble.PublicKey{1}
	for _, tc := range []struct {
		name, conf string
		prepare    func(r *rig, token wamble.Token, challenge [32]byte)
		packet     func(token wamble.Token, challenge [32]byte) []byte
		want       []string
	}{
		{"unknown token", "", nil, func(wamble.Token, [32]byte) []byte { return challengePacket(wamble.Token{7}, 3, by.key) }, failed(3)},
		{"no key", "", nil, func(token wamble.Token, _ [32]byte) []byte { return challengePacket(token, 3, wamble.PublicKey{}) }, failed(3)},
		{"no challenge", "", func(r *rig, token wamble.Token, c [32]byte) {
			r.send(peerAt(1), proofPacket(token, 90, by.key, [64]byte{})) // uses it up
		}, proofOf(by, by.key, 91), failed(91)},
		{"another key", "", nil, proofOf(other, other.key, 3), failed(3)},
		{"a bad signature", "", nil, proofOf(other, by.key, 3), failed(3)},
		{"a key of small order", "", func(r *rig, token wamble.Token, _ [32]byte) {
			r.challenged(peerAt(1), token, 90, small)
		}, func(token wamble.Token, _ [32]byte) []byte { return proofPacket(token, 91, small, [64]byte{1}) },
			failed(91)},
		{"too late", "", func(r *rig, _ wamble.Token, _ [32]byte) { r.now = r.now.Add(30*time.Second + time.Microsecond) }, proofOf(by, by.key, 3), failed(3)},
		{"too often", "(def login-attempts-per-min 1)", func(r *rig, token wamble.Token, _ [32]byte) {
			r.send(peerAt(1), proofPacket(token, 90, by.key, [64]byte{}))
		}, proofOf(by, by.key, 91), failed(91)},
		{"a banned key", "", func(r *rig, _ wamble.Token, _ [32]byte) {
			r.step(&Ban{Whom: Target{Key: by.key}})
		}, proofOf(by, by.key, 3), failed(3)},
		{"no number for a player", "", func(r *rig, _ wamble.Token, _ [32]byte) { drain(r, wamble.PlayerIDs) },
			proofOf(by, by.key, 3),
			[]string{"ACK 3", `ERROR 1006 "no number is left for a new player"`}},
		{"the policy", `(policy-deny "*" "protocol.ctrl" "login_request")`, nil, nil, []string{"ACK 2", `ERROR 1001 ""`}},
		{"another length", "", nil, func(token wamble.Token, _ [32]byte) []byte {
			return encode(wire.Header{Ctrl: wire.CtrlLoginRequest, Token: token, Seq: 3},
				wire.Unknown{Payload: make([]byte, 33)})
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2) "+tc.conf)
			token, _ := r.join(1)
			if tc.packet == nil {
				expect(t, r.send(peerAt(1), challengePacket(token, 2, by.key)), tc.want...)
				return
			}
			challenge := r.challenged(peerAt(1), token, 2, by.key)
			if tc.prepare != nil {
				tc.prepare(r, token, challenge)
				r.answerLoads()
				r.took()
			}
			got := r.send(peerAt(1), tc.packet(token, challenge))
			if len(r.loads) > 0 {
				r.answerLoads()
				got = r.took()
			}
			expect(t, got, tc.want...)
			if s := r.p.sessions.Find(token); s != nil && s.Identity() != nil {
				t.Errorf("the player is logged in as %x", s.Identity().Key())
			}
		})
	}
}

// TestJunkSignaturesLockNobodyOut: junk signatures for a player's public key, however many,
// do not keep the player from logging in.
func TestJunkSignaturesLockNobodyOut(t *testing.T) {
	r := newRig(t, "(def min-boards 4) (def rate-limit-requests-per-sec 0) (def rate-limit-ip-requests-per-sec 0)")
	by := standardSigner(1)
	foe, _ := r.join(1)
	for seq := uint32(2); seq < 100; seq += 2 {
		r.challenged(peerAt(1), foe, seq, by.key)
		answer, _ := wire.Peek(r.reply(peerAt(1), proofPacket(foe, seq+1, by.key, [64]byte{byte(seq)})))
		if answer.Ctrl != wire.CtrlLoginFailed {
			t.Fatalf("got %v", answer.Ctrl)
		}
		r.send(peerAt(1), ackPacket(foe, answer.Seq))
	}
	token, _ := r.join(2)
	if got := r.login(peerAt(2), token, 2, by); !strings.Contains(got, "LOGIN_SUCCESS") {
		t.Errorf("the owner of the key: %s", got)
	}
	// The host of the junk has no budget for signatures left; in a minute it has.
	if got := r.login(peerAt(1), foe, 100, standardSigner(2)); !strings.Contains(got, "LOGIN_FAILED") {
		t.Errorf("the source of the junk: %s", got)
	}
	r.now = r.now.Add(time.Minute)
	if got := r.login(peerAt(1), foe, 102, standardSigner(2)); !strings.Contains(got, "LOGIN_SUCCESS") {
		t.Errorf("the source of the junk, a minute later: %s", got)
	}
}

// proofOf makes the proof of a key by a signer.
func proofOf(by signer, key wamble.PublicKey, seq uint32) func(wamble.Token, [32]byte) []byte {
	return func(token wamble.Token, challenge [32]byte) []byte {
		m := wamble.LoginMessage(key, token, challenge)
		return proofPacket(token, seq, key, by.sign(m[:]))
	}
}

// TestLoginIsReplayed: a repetition gets the same answer, and changes nothing.
func TestLoginIsReplayed(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	by := standardSigner(1)
	token, _ := r.join(1)
	challenge := r.challenged(peerAt(1), token, 2, by.key)
	again := r.challenged(peerAt(1), token, 2, by.key)
	if challenge != again {
		t.Error("the repetition got another challenge")
	}
	m := wamble.LoginMessage(by.key, token, challenge)
	proof := proofPacket(token, 3, by.key, by.sign(m[:]))
	r.send(peerAt(1), proof)
	r.answerLoads()
	last, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
	first := r.took()
	r.send(peerAt(1), ackPacket(token, last.Seq))
	players := r.p.leases.Remaining(wamble.PlayerIDs)
	if got := r.send(peerAt(1), proof); got != first || !strings.Contains(got, "LOGIN_SUCCESS") {
		t.Errorf("got %s, want %s again", got, first)
	}
	if r.p.leases.Remaining(wamble.PlayerIDs) != players {
		t.Error("the repetition made another player")
	}
}

// loginAnew logs a player in whose client takes over a new token, and returns the new token.
func (r *rig) loginAnew(from wamble.Peer, token wamble.Token, seq uint32, by signer) wamble.Token {
	r.t.Helper()
	challenge := r.challenged(from, token, seq, by.key)
	m := wamble.LoginMessage(by.key, token, challenge)
	s := wire.Signature(by.sign(m[:]))
	proof := encode(wire.Header{Token: token, Seq: seq + 1},
		wire.LoginRequest{PublicKey: wire.Key(by.key), Signature: &s}, wire.Int(wire.KeyLoginToken, 1))
	r.step(&Packet{Peer: from, Data: proof})
	r.settle()
	r.answerLoads()
	first, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
	r.took()
	r.send(from, ackPacket(first.Token, first.Seq))
	again, _ := wire.Peek(r.reply(from, proof)) // the answer got lost
	if first.Ctrl != wire.CtrlLoginSuccess || again != first {
		r.t.Fatalf("got %+v, and when it is asked for again %+v", first, again)
	}
	return first.Token
}

// TestPlantedToken: an attacker with the token from before the login is not the player after
// it, neither at once nor after a restart, and the player is.
func TestPlantedToken(t *testing.T) {
	by := standardSigner(1)
	legal := func(token wamble.Token, seq uint32, id wamble.BoardID) []byte {
		return encode(wire.Header{Token: token, Seq: seq, Board: id}, wire.GetLegalMoves{Square: 12})
	}
	for _, tc := range []struct {
		name  string
		login func(r *rig, token wamble.Token) wamble.Token
	}{
		{"a client that takes over a new token", func(r *rig, token wamble.Token) wamble.Token {
			fresh := r.loginAnew(peerAt(2), token, 5, by)
			if fresh == token {
				t.Error("the token is the old one")
			}
			return fresh
		}},
		{"a client of the original", func(r *rig, token wamble.Token) wamble.Token {
			if got := r.login(peerAt(2), token, 5, by); !strings.Contains(got, "LOGIN_SUCCESS") {
				t.Fatal(got)
			}
			return token
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2)")
			planted, id := r.join(1) // the foe makes a session and gives its token to the player
			r.send(peerAt(2), helloPacket(planted, 4))
			token := tc.login(r, planted)
			expect(t, r.send(peerAt(1), legal(planted, 20, id)), "ACK 20",
				`ERROR 1007 "unknown player" board `+itoa(uint32(id))+" error.blocking")
			if got := r.send(peerAt(2), legal(token, 20, id)); !strings.Contains(got, "LEGAL_MOVES") {
				t.Errorf("the owner of the key: %s", got)
			}
			hello := func(from wamble.Peer, token wamble.Token, seq uint32) wamble.Token {
				r.step(&Packet{Peer: from, Data: helloPacket(token, seq)})
				r.settle()
				r.answerLoads()
				last, _ := wire.Peek(r.sent[len(r.sent)-1].packet)
				r.took()
				return last.Token
			}
			for range 2 { // the second time after a restart
				got := hello(peerAt(3), planted, 1)
				r.send(peerAt(3), legal(got, 2, 1))
				if got == planted || got == token || r.p.sessions.Find(got) == nil ||
					r.p.sessions.Find(got).Identity() != nil {
					t.Errorf("the foe says hello and is %v", got)
				}
				if got := hello(peerAt(2), token, 30); got != token || r.p.sessions.Find(got).Identity() == nil {
					t.Errorf("the player says hello and is %v", got)
				}
				r.restart()
			}
		})
	}
}

// TestLoginIsNotRelayed: a hostile server passes the token and the challenge of this server
// to its victim. The signature that it gets names the hostile server, and is refused here,
// whichever server the login names.
func TestLoginIsNotRelayed(t *testing.T) {
	by := standardSigner(1)
	for _, tc := range []struct {
		name, conf, signed, said string
		want                     string
	}{
		{"to this server", `(def login-servers "play.example play.test:8888")`, "play.example:443", "play.example:443", "LOGIN_SUCCESS"},
		{"to its other name", `(def login-servers "play.example play.test:8888")`, "play.test:8888", "play.test:8888", "LOGIN_SUCCESS"},
		{"to another port", `(def login-servers "play.example play.test:8888")`, "play.test:1", "play.test:1", "LOGIN_FAILED"},
		{"relayed", `(def login-servers "play.example")`, "foe.example", "foe.example", "LOGIN_FAILED"},
		{"relayed under our name", `(def login-servers "play.example")`, "foe.example", "play.example", "LOGIN_FAILED"},
		{"relayed as of the original", `(def login-servers "play.example")`, "foe.example", "", "LOGIN_FAILED"},
		{"without names", "", "anywhere:1", "anywhere:1", "LOGIN_SUCCESS"},
		{"to the domain", `(def domain "play.example")`, "play.example", "play.example", "LOGIN_SUCCESS"},
		{"to a name beside the domain", `(def domain "play.example") (def login-servers "play.test")`, "play.test:8888", "play.test:8888", "LOGIN_SUCCESS"},
		{"relayed from the domain", `(def domain "play.example")`, "foe.example", "foe.example", "LOGIN_FAILED"},
		{"to one of several machines", `(def cluster-endpoints "A.example 2001:db8::7") (def cluster-host "a.example")`, "[2001:db8::7]:8888", "[2001:db8::7]:8888", "LOGIN_SUCCESS"},
		{"relayed from several machines", `(def cluster-host "a.example")`, "foe.example", "foe.example", "LOGIN_FAILED"},
		{"as localhost", `(def domain "play.example")`, "localhost:8888", "localhost:8888", "LOGIN_FAILED"},
		{"of the original", `(def login-servers "play.example")`, "", "", "LOGIN_SUCCESS"},
		{"of the original, switched off", "(def login-legacy 0)", "", "", "LOGIN_FAILED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, "(def min-boards 2) "+tc.conf)
			token, _ := r.join(1)
			challenge := r.challenged(peerAt(1), token, 2, by.key)
			legacy := wamble.LoginMessage(by.key, token, challenge)
			message, fields := legacy[:], []wire.Field(nil)
			if tc.signed != "" {
				message = wamble.LoginMessageTo(tc.signed, by.key, token, challenge)
			}
			if tc.said != "" {
				fields = append(fields, wire.String(wire.KeyLoginServer, tc.said))
			}
			s := wire.Signature(by.sign(message))
			got := r.send(peerAt(1), encode(wire.Header{Token: token, Seq: 3},
				wire.LoginRequest{PublicKey: wire.Key(by.key), Signature: &s}, fields...))
			r.answerLoads()
			if got += r.took(); !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestLogout: when the ACK leaves, the session has ended for good, and its token gives access
// to nothing.
func TestLogout(t *testing.T) {
	r := newRig(t, "(def min-boards 2)")
	by := standardSigner(1)
	token, id := r.join(1)
	r.login(peerAt(1), token, 2, by)
	sid := r.p.sessions.Find(token).ID()
	bye := encode(wire.Header{Token: token, Seq: 4}, wire.Logout{})
	r.stuck = true
	expect(t, r.send(peerAt(1), bye), "")
	r.stuck = false
	r.settle()
	expect(t, r.took(), "ACK 4")
	if r.p.link.Linked(token) || r.p.boards.Board(id).Holder() != 0 || r.p.sessions.Find(token) != nil {
		t.Error("something is left of the session")
	}
	r.apply()
	if s := r.store.sessions[sid]; !s.Key.IsZero() {
		t.Error("the store still ties it to the identity")
	}
	expect(t, r.send(peerAt(1), bye), "ACK 4")
	h, _ := wire.Peek(r.reply(peerAt(1), helloPacket(token, 5)))
	if h.Ctrl != wire.CtrlServerHello || h.Token == token {
		t.Errorf("got %+v, want somebody new", h)
	}
	// A player without an identity may log out as well.
	r.send(peerAt(2), encode(wire.Header{Token: wamble.Token{7}, Seq: 1}, wire.Logout{}))
	r.answerLoads()
	expect(t, r.took(), "ACK 1")
	// A session that is only in the store is untied there.
	s := r.store.stored(700, by.key, wamble.Stats{}, epoch)
	r.send(peerAt(3), encode(wire.Header{Token: tokenOf(s.Token), Seq: 1}, wire.Logout{}))
	r.answerLoads()
	expect(t, r.took(), "ACK 1")
	r.apply()
	if !r.store.sessions[700].Key.IsZero() {
		t.Error("the stored session is still tied")
	}
}
