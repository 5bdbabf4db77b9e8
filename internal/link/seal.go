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

// A seal is 16 bytes that are sent to an address and prove it when they come back from there. A
// sender who cannot read what is sent to the address cannot guess them, and the server stores
// nothing about them. A seal is one AES block under a key of the server:
//
//	 0  4  milliseconds since the key was new; above them, in an offer, its wishes
//	 4  2  number of the seal
//	 6  4  board that is offered with a token; 0 in a cookie
//	10  6  SHA-256 of key, kind and address
//
// There are two kinds: a cookie, which a client puts into its hello, and the token of an offer,
// for clients that know no cookies. See Endpoint.Offer.
type seal = [16]byte

type sealKind byte

const (
	cookieSeal sealKind = iota + 1
	offerSeal
)

const (
	keyTime    = 30 * time.Minute // a key makes seals this long, and opens them this long afterwards
	cookieTime = 2 * time.Minute  // how long a cookie is valid
)

// seals makes and opens seals. Without a key it does neither.
type seals struct {
	on      bool
	shard   wamble.Shard // shard of the tokens of offers
	keys    [2]sealKey   // the current key, and the one before it
	since   time.Duration
	counter uint16
	sealed  seal // ciphertext; a field, because as a local variable it
	opened  seal // would escape to the heap in the call of AES
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

// next returns the key after k, from which k cannot be computed.
func (k *sealKey) next() sealKey {
	return newSealKey(sha256.Sum256(append(k.secret[:], "next"...)))
}

// SetKey sets the secret of the server's seals. A server without one requires no cookies and
// makes no offers.
func (e *Endpoint) SetKey(secret [32]byte) {
	first := newSealKey(secret)
	e.seals = seals{on: true, shard: e.seals.shard, keys: [2]sealKey{first.next(), first}, since: e.now}
}

// SetShard sets the shard of the tokens that Offer makes.
func (e *Endpoint) SetShard(shard wamble.Shard) { e.seals.shard = shard }

// turn replaces expired keys.
func (s *seals) turn(now time.Duration) {
	n := (now - s.since) / keyTime
	s.since += n * keyTime
	for range min(n, 2) {
		s.keys = [2]sealKey{s.keys[0].next(), s.keys[0]}
	}
}

// tag returns the bytes that bind a seal to its kind and address.
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

// open returns what a seal that was made for an address contains, and its age.
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

// Offered is the content of a token made by Endpoint.Offer.
type Offered struct {
	Board  wamble.BoardID
	Age    time.Duration
	Wishes Wishes
}

// Wishes are what the hello that an offer answers says about its sender.
type Wishes uint8

// The wishes.
const (
	Waits   Wishes = 1 << iota // without a board the player waits for one
	Program                    // the player is a bot
)

// wishShift is the first bit above the milliseconds of keyTime.
const wishShift = 24

// Offer returns a token for the sender of a request, zero if the server has no key or no longer
// knows where the request came from. The server stores nothing about the token; Offered
// recognizes it for at least half an hour when it comes from the address that it was made for.
func (e *Endpoint) Offer(id Request, board wamble.BoardID, wishes Wishes) wamble.Token {
	from, ok := e.Peer(id)
	if !ok || !e.seals.on {
		return wamble.Token{}
	}
	return e.seals.make(e.now, offerSeal, from, board, wishes)
}

// Offered reports whether Offer has made a token for an address. If so, a sender with that
// token receives what is sent to the address.
func (e *Endpoint) Offered(from wamble.Peer, token wamble.Token) (Offered, bool) {
	return e.seals.open(e.now, offerSeal, from, token)
}

// Shown reports whether a hello proves its address by itself: it came over a connection, or
// with a cookie.
func (e *Endpoint) Shown(id Request) bool {
	r := e.requests.get(id)
	return r != nil && r.shown
}

// cookieText is the length of a cookie in hexadecimal digits. A hello has wire.CookieSize
// characters for it, so that the answer is no longer than the hello.
const cookieText = 2 * len(seal{})

// cookie is the result of checking a hello's cookie.
type cookie uint8

const (
	noCookie cookie = iota // the client has no room for a cookie, or none is required
	badCookie
	goodCookie
)

// cookieOf checks the cookie of a hello.
func (e *Endpoint) cookieOf(now time.Duration, from wamble.Peer, p *wire.Packet) cookie {
	if from.Stream() || !e.seals.on {
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
	if o, ok := e.seals.open(now, cookieSeal, from, sealed); ok && o.Age < cookieTime {
		return goodCookie
	}
	return badCookie
}

// challenge answers a hello without a good cookie with a cookie, in no more bytes than the
// hello has. It stores nothing and counts for no limit, so that forged hellos use up nothing of
// the address's owner.
func (e *Endpoint) challenge(now time.Duration, from wamble.Peer, h *wire.Header, out Sink) {
	sealed := e.seals.make(now, cookieSeal, from, 0, 0)
	var text [cookieText]byte
	hex.Encode(text[:], sealed[:])
	e.scratch = append(e.scratch[:0], bareChallenge...)
	wire.SetCookie(e.scratch, text[:])
	copy(e.scratch[4:20], h.Token[:])
	e.stats.Cookies++
	e.stats.Sent++
	out.Send(from, e.scratch)
}

// bareChallenge is the packet of challenge with zeros for token and cookie.
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
func (e *Endpoint) AppendKeys(dst []byte) []byte {
	if !e.seals.on {
		return dst
	}
	w := writer{dst, e.now}
	w.Raw(e.seals.keys[0].secret[:]...)
	w.Raw(e.seals.keys[1].secret[:]...)
	w.time(e.seals.since)
	w.Uint(uint64(e.seals.counter))
	w.Uint(e.stats.Cookies)
	return w.Writer
}

// RestoreKeys takes over the keys of another process, so that this one can open its seals. It
// returns ErrState if the bytes are damaged.
func (e *Endpoint) RestoreKeys(state []byte) error {
	r := reader{pack.NewReader(state), e.now}
	var secrets [2][32]byte
	copy(secrets[0][:], r.Take(32))
	copy(secrets[1][:], r.Take(32))
	since, counter, cookies := r.time(), uint16(r.Uint()), r.Uint()
	if !r.Ended() || since > e.now {
		return ErrState
	}
	e.seals = seals{on: true, shard: e.seals.shard, keys: [2]sealKey{newSealKey(secrets[0]), newSealKey(secrets[1])},
		since: since, counter: counter}
	e.stats.Cookies = cookies
	return nil
}
