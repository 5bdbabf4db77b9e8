package wamble

// loginDomain opens every signed message, so that the signature is good for
// nothing else. The byte after the text is the version.
const loginDomain = "wamble.login.v1\x01"

// LoginMessage is what a client signs to log in: the domain, its session, its
// public key and the server's challenge.
func LoginMessage(key PublicKey, token Token, challenge [32]byte) [96]byte {
	var m [96]byte
	n := copy(m[:], loginDomain)
	n += copy(m[n:], token[:])
	n += copy(m[n:], key[:])
	copy(m[n:], challenge[:])
	return m
}
