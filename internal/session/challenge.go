package session

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"wamble"
)

// ErrLogin is returned when a login fails, without a reason.
var ErrLogin = errors.New("login failed")

// challenge is a text that a session was asked to sign.
type challenge struct {
	key  wamble.PublicKey
	text [32]byte
	at   int64
}

// Challenge returns the text that the session must sign with the private key of key. It replaces the
// session's earlier challenge, and is valid for 30 seconds. Errors: ErrLogin for a zero key, or one of the
// entropy.
func (t *Table) Challenge(now time.Time, s *Session, key wamble.PublicKey) ([32]byte, error) {
	at := t.tick(now)
	if key.IsZero() {
		return [32]byte{}, ErrLogin
	}
	if s.pending == nil {
		s.pending = new(challenge)
	}
	s.pending.key, s.pending.at = key, at
	if _, err := io.ReadFull(t.entropy, s.pending.text[:]); err != nil {
		s.pending = nil
		return [32]byte{}, err
	}
	return s.pending.text, nil
}

// Prove consumes the session's challenge, and returns ErrLogin unless signature signs it with key for the
// named server ("" for none, as clients of the original sign). After success Link may follow. If ip, or
// all hosts together, have had too many signatures verified lately, the challenge stays valid.
func (t *Table) Prove(now time.Time, s *Session, ip netip.Addr, key wamble.PublicKey, signature [64]byte,
	server string) error {
	at := t.tick(now)
	c := s.pending
	good := c != nil && c.key == key && at-c.at <= challengeTTL.Microseconds()
	if good && !t.hosts.mayVerify(at, ip, t.opts.Logins) {
		return ErrLogin
	}
	s.pending = nil
	switch {
	case !good:
		return ErrLogin
	case server == "" && VerifyLogin(key, signature, s.token, c.text):
		return nil
	case server != "" && verify(key, signature, wamble.LoginMessageTo(server, key, s.token, c.text)):
		return nil
	}
	return ErrLogin
}
