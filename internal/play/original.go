package play

import (
	"crypto"
	"crypto/ed25519"
	"io"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/blake2b"
)

// originalKey is a key of the original's clients: EdDSA over edwards25519 with BLAKE2b-512 in place of SHA-512,
// of a seed that is BLAKE2b-256 of a fixed text and the 128 bits that its twelve words mean.
type originalKey struct {
	secret *edwards25519.Scalar
	prefix []byte
	public []byte
}

func newOriginalKey(entropy [16]byte) crypto.Signer {
	seed := blake2b.Sum256(append([]byte("wamble-client-mnemonic-v1"), entropy[:]...))
	h := blake2b.Sum512(seed[:])
	secret, err := new(edwards25519.Scalar).SetBytesWithClamping(h[:32])
	if err != nil {
		panic(err) // 32 bytes are always valid
	}
	return &originalKey{secret, h[32:], new(edwards25519.Point).ScalarBaseMult(secret).Bytes()}
}

// Public implements crypto.Signer.
func (k *originalKey) Public() crypto.PublicKey { return ed25519.PublicKey(k.public) }

// Sign implements crypto.Signer. The signature is the same for the same message: no entropy is used.
func (k *originalKey) Sign(_ io.Reader, message []byte, _ crypto.SignerOpts) ([]byte, error) {
	r := hashToScalar(k.prefix, message)
	point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	s := new(edwards25519.Scalar).MultiplyAdd(hashToScalar(point, k.public, message), k.secret, r)
	return append(point, s.Bytes()...), nil
}

// hashToScalar hashes parts with BLAKE2b-512 and reduces the result modulo the group's order.
func hashToScalar(parts ...[]byte) *edwards25519.Scalar {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	h := blake2b.Sum512(all)
	s, err := new(edwards25519.Scalar).SetUniformBytes(h[:])
	if err != nil {
		panic(err) // 64 bytes are always valid
	}
	return s
}
