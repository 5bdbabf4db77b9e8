package wamble

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Token is the bearer secret of a session: 16 random bytes. The zero Token means "no session yet" and is
// never issued.
//
// A token is all that a client needs to act as the session, so it never appears in a log.
type Token [16]byte

// IsZero reports whether t names no session.
func (t Token) IsZero() bool { return t == Token{} }

// Shard returns which of n shards has the session of t; n is a power of two, at most 64. It depends on the
// token's last byte, so that a session keeps its shard while n stays.
func (t Token) Shard(n int) int { return int(t[len(t)-1]) & (n - 1) }

// String returns the text form of a token: 22 characters of unpadded base64url.
func (t Token) String() string { return base64.RawURLEncoding.EncodeToString(t[:]) }

// ParseToken decodes the text form. As in the original, the four unused bits of the last character are
// ignored.
func ParseToken(s string) (Token, error) {
	var t Token
	if len(s) != 22 {
		return t, fmt.Errorf("a token has 22 characters, this one has %d", len(s))
	}
	n, err := base64.RawURLEncoding.Decode(t[:], []byte(s))
	if err != nil || n != len(t) {
		return Token{}, fmt.Errorf("a token consists of A–Z, a–z, 0–9, - and _")
	}
	return t, nil
}

// MaxShards bounds the shards of a profile.
const MaxShards = 64

// Shard is one of the shards of a profile; Of is a power of two. The zero Shard is the only one.
type Shard struct{ Index, Of int }

// mask returns the bits of a token's last byte that name its shard.
func (s Shard) mask() byte { return byte(max(s.Of, 1) - 1) }

// Owns reports whether a token belongs to the shard.
func (s Shard) Owns(t Token) bool { return t[15]&s.mask() == byte(s.Index) }

// Own makes a token belong to the shard.
func (s Shard) Own(t *Token) { t[15] = t[15]&^s.mask() | byte(s.Index) }

// TokenHash is what is stored of a token: the first half of its SHA-256. A reader of a database, a journal
// or a backup cannot use a session by it. A token is 128 random bits, which cannot be guessed, so the hash
// needs no key, no salt and no slow function, and more bytes than the token has would not make it stronger.
type TokenHash [16]byte

// Hash returns the hash of t that is stored.
func (t Token) Hash() TokenHash {
	sum := sha256.Sum256(t[:])
	return TokenHash(sum[:len(TokenHash{})])
}

// IsZero reports whether h is the hash of no token.
func (h TokenHash) IsZero() bool { return h == TokenHash{} }
