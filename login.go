package wamble

// loginDomain begins every signed message, so that the signature is valid for nothing else. The byte after
// the text is the version.
const loginDomain = "wamble.login.v1\x01"

// LoginMessage returns what a client signs to log in: the domain, its token, its public key and the
// server's challenge.
func LoginMessage(key PublicKey, token Token, challenge [32]byte) [96]byte {
	var m [96]byte
	n := copy(m[:], loginDomain)
	n += copy(m[n:], token[:])
	n += copy(m[n:], key[:])
	copy(m[n:], challenge[:])
	return m
}

// loginDomain2 begins the message that names a server.
const loginDomain2 = "wamble.login.v2\x02"

// LoginMessageTo returns what a client signs that knows the name of its server: like LoginMessage, followed
// by the server as the client connects to it ("host:port" or "host", in lower case). A server that relays
// the challenge of another one gets a signature that names itself.
func LoginMessageTo(server string, key PublicKey, token Token, challenge [32]byte) []byte {
	m := append([]byte(loginDomain2), token[:]...)
	m = append(m, key[:]...)
	m = append(m, challenge[:]...)
	return append(m, server...)
}
