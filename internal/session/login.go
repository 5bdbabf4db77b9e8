package session

import (
	"crypto/ed25519"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/blake2b"

	"wamble"
)

// VerifyLogin reports whether signature proves that the session's player has the private key of publicKey.
// It accepts two algorithms: Ed25519 of RFC 8032, and the original client's EdDSA with BLAKE2b-512 instead
// of SHA-512. They hash the message differently, so a signature of one is invalid for the other.
//
// A key of small order is refused, because it has signatures that are valid for any message. The work is
// the same for every valid key.
func VerifyLogin(publicKey [32]byte, signature [64]byte, token wamble.Token, challenge [32]byte) bool {
	m := wamble.LoginMessage(publicKey, token, challenge)
	return verify(publicKey, signature, m[:])
}

// verify reports whether signature signs a message with publicKey.
func verify(publicKey [32]byte, signature [64]byte, m []byte) bool {
	a, err := new(edwards25519.Point).SetBytes(publicKey[:])
	if err != nil || isSmallOrder(a) {
		return false
	}
	standard := ed25519.Verify(publicKey[:], m, signature[:])
	original := verifyBLAKE2b(a, publicKey, m, signature)
	return standard || original
}

func isSmallOrder(p *edwards25519.Point) bool {
	return isIdentity(new(edwards25519.Point).MultByCofactor(p))
}

func isIdentity(p *edwards25519.Point) bool { return p.Equal(edwards25519.NewIdentityPoint()) == 1 }

// verifyBLAKE2b is the verification of the original: S is below the group's order, and [8]([S]B − [h]A − R)
// is the identity with h = BLAKE2b-512(R ‖ A ‖ M).
func verifyBLAKE2b(a *edwards25519.Point, publicKey [32]byte, message []byte, signature [64]byte) bool {
	r, err := new(edwards25519.Point).SetBytes(signature[:32])
	if err != nil {
		return false
	}
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(signature[32:])
	if err != nil {
		return false
	}
	h := scalarOf(signature[:32], publicKey[:], message)
	negA := new(edwards25519.Point).Negate(a)
	d := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(h, negA, s)
	d.Subtract(d, r)
	return isIdentity(d.MultByCofactor(d))
}

// scalarOf hashes parts with BLAKE2b-512 and reduces the result modulo the group's order.
func scalarOf(parts ...[]byte) *edwards25519.Scalar {
	hash, err := blake2b.New512(nil)
	if err != nil {
		panic(err) // only a too long key is an error
	}
	for _, p := range parts {
		hash.Write(p)
	}
	s, err := new(edwards25519.Scalar).SetUniformBytes(hash.Sum(nil))
	if err != nil {
		panic(err) // 64 bytes are always valid
	}
	return s
}
