package play

import (
	"crypto"
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"wamble"
)

// TestOriginalKey: the original's own test vector.
func TestOriginalKey(t *testing.T) {
	var m Mnemonic
	var token wamble.Token
	var challenge [32]byte
	for i := range 32 {
		if i < 16 {
			m.Entropy[i], token[i] = byte(0x20+7*i), byte(0x40+i)
		}
		challenge[i] = byte(0x80 + i)
	}
	m, err := parseIdentity(hex.EncodeToString(m.Entropy[:]))
	if err != nil || !m.Original {
		t.Fatal(m, err)
	}
	key := m.Key()
	public := key.Public().(ed25519.PublicKey)
	if got, want := hex.EncodeToString(public), "800dbfab598854a93f34b51456528d24711a5bb8927d202e8ca148ab6ded5e31"; got != want {
		t.Errorf("public key: got %s, want %s", got, want)
	}
	message := wamble.LoginMessage(wamble.PublicKey(public), token, challenge)
	signature, err := key.Sign(nil, message[:], crypto.Hash(0))
	if got, want := hex.EncodeToString(signature), "326518b4c8a05f190b96117d5b4237552b79ec3cd00b436d8e0b473a87bf021353c573b2e41af935d45819b9f95cf6619c1f2195145f81c3354f4924b58d3302"; got != want || err != nil {
		t.Errorf("signature: got %s, %v, want %s", got, err, want)
	}
}
