package wamble

import (
	"encoding/hex"
	"testing"
)

// The bytes are those that the original client signs, and those that name a server.
func TestLoginMessage(t *testing.T) {
	counting := func(dst []byte, from byte) {
		for i := range dst {
			dst[i] = from + byte(i)
		}
	}
	var key PublicKey
	var token Token
	var challenge [32]byte
	counting(key[:], 0x20)
	counting(token[:], 0xa0)
	counting(challenge[:], 0x80)
	m := LoginMessage(key, token, challenge)
	want := "77616d626c652e6c6f67696e2e763101" +
		"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf" +
		"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f" +
		"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
	if got := hex.EncodeToString(m[:]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = "77616d626c652e6c6f67696e2e763202" + want[32:] + hex.EncodeToString([]byte("play.example:8888"))
	if got := hex.EncodeToString(LoginMessageTo("play.example:8888", key, token, challenge)); got != want {
		t.Errorf("to a server: got  %s\nwant %s", got, want)
	}
}
