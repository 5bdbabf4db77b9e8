package link

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"time"

	"wamble"
	"wamble/internal/pack"
	"wamble/wire"
)

// A seal is 16 bytes that are sent to an address and prove it when they come back
// from there. Whoever cannot read what is sent to the address cannot guess them,
// and nothing is remembered of them. One AES block under a key of the server's:
//
//	 0  4  milliseconds since the key was new; above them, in an offer, its wishes
//	 4  2  number of the seal
//	 6  4  board that is offered with a token; 0 in a cookie
//	10  6  SHA-256 of key, kind and address
//
// There are two kinds: a cookie, which a client says hello with, and the token of
// an offer, for clients that know no cookies. See Server.Offer.
type seal = [16]byte

type sealKind byte

const (
	cookieSeal sealKind = iota + 1
	offerSeal
)

const (
	keyTime    = 30 * time.Minute // a key makes seals so long, and then opens them so long
	cookieTime = 2 * time.Minute  // a cookie is good so long
)

// seals makes and opens seals. Without a key it does neither.
type seals struct {
	on      bool
	shard   wamble.Shard // whose tokens are offered
	keys    [2]sealKey   // the present one, and the one before it
	since   time.Duration
	counter uint16
	sealed  seal // as AES sees them: in the memory of a seals, because AES would
	opened  seal // let local variables escape
}

type sealKey struct {
	secret [32]byte
	block  cipher.Block
}

func newSealKey(secret [32]byte) sealKey {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic("link: 32 bytes are a key: " + err.Error())
	}
	return sealKey{secret, block}
}

// next returns the key that follows k. It tells nothing about k.
func (k *sealKey) next() sealKey {
	return newSealKey(sha256.Sum256(append(k.secret[:], "next"...)))
}

// SetKey gives a server the secret of its seals. A server without one asks for no
// cookies and makes no offers.
func (s *Server) SetKey(secret [32]byte) {
	first := newSealKey(secret)
	s.seals = seals{on: true, shard: s.seals.shard, keys: [2]sealKey{first.next(), first}, since: s.now}
}

// SetShard lets Offer make tokens of a shard.
func (s *Server) SetShard(shard wamble.Shard) { s.seals.shard = shard }

// turn replaces keys whose time is over.
func (s *seals) turn(now time.Duration) {
	n := (now - s.since) / keyTime
	s.since += n * keyTime
	for range min(n, 2) {
		s.keys = [2]sealKey{s.keys[0].next(), s.keys[0]}
	}
}

// tag is what binds a seal to its kind and address.
func (k *sealKey) tag(kind sealKind, at wamble.Peer) (tag [6]byte) {
	var b [32 + 1 + 16 + 2]byte
	copy(b[:], k.secret[:])
	b[32] = byte(kind)
	ip := at.IP().As16()
	copy(b[33:], ip[:])
	binary.BigEndian.PutUint16(b[49:], at.Addr.Port())
	sum := sha256.Sum256(b[:])
	copy(tag[:], sum[:])
	return tag
}

// make returns a new seal.
func (s *seals) make(now time.Duration, kind sealKind, at wamble.Peer, board wamble.BoardID, wishes Wishes) seal {
	s.turn(now)
	k, b := &s.keys[0], &s.opened
	*b = seal{}
	binary.BigEndian.PutUint32(b[:], uint32((now-s.since)/time.Millisecond)|uint32(wishes)<<wishShift)
	if board > 0 && board <= math.MaxUint32 {
		binary.BigEndian.PutUint32(b[6:], uint32(board))
	}
	tag := k.tag(kind, at)
	copy(b[10:], tag[:])
	for {
		s.counter++
		binary.BigEndian.PutUint16(b[4:], s.counter)
		if k.block.Encrypt(s.sealed[:], b[:]); kind != offerSeal || s.shard.Owns(s.sealed) {
			return s.sealed
		}
	}
}

// open returns the age and the board of a seal that was made for an address.
func (s *seals) open(now time.Duration, kind sealKind, at wamble.Peer, sealed seal) (o Offered, ok bool) {
	if !s.on {
		return Offered{}, false
	}
	s.turn(now)
	since := s.since
	s.sealed = sealed
	for i := range s.keys {
		k, b := &s.keys[i], &s.opened
		k.block.Decrypt(b[:], s.sealed[:])
		tag := k.tag(kind, at)
		stamp := binary.BigEndian.Uint32(b[:])
		age := now - since - time.Duration(stamp&(1<<wishShift-1))*time.Millisecond
		if subtle.ConstantTimeCompare(b[10:], tag[:]) == 1 && age >= 0 {
			return Offered{wamble.BoardID(binary.BigEndian.Uint32(b[6:])), age, Wishes(stamp >> wishShift)}, true
		}
		since -= keyTime
	}
	return Offered{}, false
}

// Offered is what Server.Offer was asked for.
type Offered struct {
	Board  wamble.BoardID
	Age    time.Duration
	Wishes Wishes
}

// Wishes is what a hello that is answered by an offer has said of its sender.
type Wishes uint8

// The closed list of wishes.
const (
	Waits   Wishes = 1 << iota // without a board he waits for one
	Program                    // he is a bot
)

// wishShift is above the milliseconds of keyTime.
const wishShift = 24

// Offer returns a token for whoever has sent a request: zero if the server has no
// key, or does not know any longer where the request came from. Nothing is
// remembered of the token; Offered knows it again, for half an hour at least,
// when it comes from the address that it was made for.
func (s *Server) Offer(id Request, board wamble.BoardID, wishes Wishes) wamble.Token {
	from, ok := s.Peer(id)
	if !ok || !s.seals.on {
		return wamble.Token{}
	}
	return s.seals.make(s.now, offerSeal, from, board, wishes)
}

// Offered reports whether Offer has made a token for an address: then whoever
// sends it from there receives what is sent there.
func (s *Server) Offered(from wamble.Peer, token wamble.Token) (Offered, bool) {
	return s.seals.open(s.now, offerSeal, from, token)
}

// Shown reports whether a hello proves by itself that its address is no forgery:
// it came over a connection, or with a cookie.
func (s *Server) Shown(id Request) bool {
	r := s.requests.get(id)
	return r != nil && r.shown
}

// cookieText is how long a cookie is in hexadecimal digits. A hello has
// wire.CookieSize characters for it, so that the answer is no longer than the hello.
const cookieText = 2 * len(seal{})

// cookie is what a hello says of its cookie.
type cookie uint8

const (
	noCookie cookie = iota // the client knows none, or is not asked for one
	badCookie
	goodCookie
)

// cookieOf looks for the cookie of a hello.
func (s *Server) cookieOf(now time.Duration, from wamble.Peer, p *wire.Packet) cookie {
	if from.Stream() || !s.seals.on {
		return noCookie
	}
	value := p.Ext.View(wire.KeyHelloCookie)
	if len(value) < wire.CookieSize {
		return noCookie
	}
	var sealed seal
	if _, err := hex.Decode(sealed[:], value[:cookieText]); err != nil || sealed == (seal{}) {
		return badCookie
	}
	if o, ok := s.seals.open(now, cookieSeal, from, sealed); ok && o.Age < cookieTime {
		return goodCookie
	}
	return badCookie
}

// challenge answers a hello without a good cookie with one, once, in no more bytes
// than the hello has. Nothing is remembered of it, and no limit counts it: whoever
// forges an address can use up nothing of its owner's.
func (s *Server) challenge(now time.Duration, from wamble.Peer, h *wire.Header, out Sink) {
	sealed := s.seals.make(now, cookieSeal, from, 0, 0)
	var text [cookieText]byte
	hex.Encode(text[:], sealed[:])
	s.scratch = append(s.scratch[:0], bareChallenge...)
	wire.SetCookie(s.scratch, text[:])
	copy(s.scratch[4:20], h.Token[:])
	s.stats.Cookies++
	s.stats.Sent++
	out.Send(from, s.scratch)
}

// bareChallenge is the answer of challenge without token and cookie.
var bareChallenge = func() []byte {
	packet, err := wire.Append(nil, wire.Header{Flags: wire.FlagUnreliable}, wire.Error{Code: wamble.AccessDenied},
		wire.String(wire.KeyHelloCookie, strings.Repeat("0", cookieText)))
	if err != nil {
		panic(err)
	}
	return packet
}()

// AppendKeys appends the keys of the seals to dst, for RestoreKeys in another
// process.
func (s *Server) AppendKeys(dst []byte) []byte {
	if !s.seals.on {
		return dst
	}
	w := writer{dst, s.now}
	w.Raw(s.seals.keys[0].secret[:]...)
	w.Raw(s.seals.keys[1].secret[:]...)
	w.time(s.seals.since)
	w.Uint(uint64(s.seals.counter))
	w.Uint(s.stats.Cookies)
	return w.Writer
}

// RestoreKeys takes the keys of another process over, so that what that has sealed
// is known here. It returns ErrState when the bytes are damaged.
func (s *Server) RestoreKeys(state []byte) error {
	r := reader{pack.NewReader(state), s.now}
	var secrets [2][32]byte
	copy(secrets[0][:], r.Take(32))
	copy(secrets[1][:], r.Take(32))
	since, counter, cookies := r.time(), uint16(r.Uint()), r.Uint()
	if !r.Ended() || since > s.now {
		return ErrState
	}
	s.seals = seals{on: true, shard: s.seals.shard, keys: [2]sealKey{newSealKey(secrets[0]), newSealKey(secrets[1])}, since: since, counter: counter}
	s.stats.Cookies = cookies
	return nil
}
