package wire

import (
	"encoding/hex"
	"fmt"
)

// Bytes are bytes that are not text. In JSON they are hexadecimal.
type Bytes []byte

// Key is a public key, a challenge or a hash: 32 bytes, hexadecimal in JSON.
type Key [32]byte

// Signature is the proof of a login: 64 bytes, hexadecimal in JSON.
type Signature [64]byte

// Author is a token or a pseudonym: 16 bytes, hexadecimal in JSON.
type Author [16]byte

// MarshalText writes b in hexadecimal.
func (b Bytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

// UnmarshalText reads hexadecimal.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	if *b, err = hex.AppendDecode(nil, text); err != nil {
		return notHex(text)
	}
	return nil
}

// MarshalText writes k in hexadecimal.
func (k Key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (k *Key) UnmarshalText(text []byte) error { return decodeHex(k[:], text) }

// MarshalText writes a in hexadecimal.
func (a Author) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, a[:]), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (a *Author) UnmarshalText(text []byte) error { return decodeHex(a[:], text) }

// MarshalText writes s in hexadecimal.
func (s Signature) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads 128 hexadecimal digits.
func (s *Signature) UnmarshalText(text []byte) error { return decodeHex(s[:], text) }

var errHexLength = invalid("wrong number of hexadecimal digits")

// decodeHex decodes text, which must have exactly the digits for dst.
func decodeHex(dst, text []byte) error {
	if len(text) != hex.EncodedLen(len(dst)) {
		return errHexLength
	}
	if _, err := hex.Decode(dst, text); err != nil {
		return notHex(text)
	}
	return nil
}

// notHex returns an error with the invalid text, because an error inside a JSON object does not
// name the object's key.
func notHex(text []byte) error {
	return fmt.Errorf("%w: %.40q is not hexadecimal, two digits a byte", ErrInvalid, text)
}
