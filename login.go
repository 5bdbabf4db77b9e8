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

// loginDomain2 opens the message that names a server.
const loginDomain2 = "wamble.login.v2\x02"

// LoginMessageTo is what a client signs that knows to which server it speaks: as
// LoginMessage, and behind it the server, as the client has been told to connect
// to it ("host:port" or "host", in lower case). A server that hands on the
// challenge of another one gets a signature that names itself.
func LoginMessageTo(server string, key PublicKey, token Token, challenge [32]byte) []byte {
	m := append([]byte(loginDomain2), token[:]...)
	m = append(m, key[:]...)
	m = append(m, challenge[:]...)
	return append(m, server...)
}
