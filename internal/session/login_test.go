package session

import (
	"crypto/ed25519"
	"encoding/hex"
	"testing"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/blake2b"

	"wamble"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counting is b, b+1, b+2 …
func counting(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b + byte(i)
	}
	return out
}

// signBLAKE2b is the signing side of the original's EdDSA.
func signBLAKE2b(t testing.TB, seed []byte, message func(public [32]byte) []byte) (public [32]byte,
	signature [64]byte) {
	t.Helper()
	digest := blake2b.Sum512(seed)
	a, err := new(edwards25519.Scalar).SetBytesWithClamping(digest[:32])
	if err != nil {
		t.Fatal(err)
	}
	copy(public[:], new(edwards25519.Point).ScalarBaseMult(a).Bytes())
	m := message(public)
	r := scalarOf(digest[32:], m)
	R := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	h := scalarOf(R, public[:], m)
	copy(signature[:], R)
	copy(signature[32:], new(edwards25519.Scalar).MultiplyAdd(h, a, r).Bytes())
	return public, signature
}

// The vectors were printed by the original client's code.
func TestLoginOfTheOriginal(t *testing.T) {
	cases := []struct {
		name, seed, public, signature string
		token, challenge              []byte
	}{
		{
			"golden", "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
			"2b4788ff5dfa85079b02dd844303d35a5b355c0fc8ee551c032bf2b1aeaf2911",
			"8f8f60ff2b5c5ed318efd2acccfcee86ba90610549413ab4303ef0de70416fcbe1d1d890d48562cd5eb017ac2e7d76638a982ae26a6eb3a66813f9dc03770407",
			counting(0xa0, 16), counting(0x80, 32),
		},
		{
			"mnemonic", "42f1cd3a4f86858ba76e3ccf092c01076f2464597dc75cb138b9d08458a1a060",
			"800dbfab598854a93f34b51456528d24711a5bb8927d202e8ca148ab6ded5e31",
			"326518b4c8a05f190b96117d5b4237552b79ec3cd00b436d8e0b473a87bf021353c573b2e41af935d45819b9f95cf6619c1f2195145f81c3354f4924b58d3302",
			counting(0x40, 16), counting(0x80, 32),
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			token, challenge := wamble.Token(c.token), [32]byte(c.challenge)
			public, signature := signBLAKE2b(t, unhex(t, c.seed), func(public [32]byte) []byte {
				m := wamble.LoginMessage(public, token, challenge)
				return m[:]
			})
			if got, want := hex.EncodeToString(public[:]), c.public; got != want {
				t.Errorf("public key %s, want %s", got, want)
			}
			if got, want := hex.EncodeToString(signature[:]), c.signature; got != want {
				t.Errorf("signature %s, want %s", got, want)
			}
			if !VerifyLogin(public, signature, token, challenge) {
				t.Error("the signature is refused")
			}
			checkBinding(t, public, signature, token, challenge)
		})
	}
}

func TestLoginEd25519(t *testing.T) {
	private := ed25519.NewKeyFromSeed(counting(0x20, 32))
	public := [32]byte(private.Public().(ed25519.PublicKey))
	if got, want := hex.EncodeToString(public[:]),
		"29acbae141bccaf0b22e1a94d34d0bc7361e526d0bfe12c89794bc9322966dd7"; got != want {
		t.Errorf("public key %s, want %s", got, want)
	}
	token, challenge := wamble.Token(counting(1, 16)), [32]byte(counting(7, 32))
	m := wamble.LoginMessage(public, token, challenge)
	signature := [64]byte(ed25519.Sign(private, m[:]))
	if !VerifyLogin(public, signature, token, challenge) {
		t.Error("the signature is refused")
	}
	checkBinding(t, public, signature, token, challenge)
}

// checkBinding changes every byte of what was signed, and of the signature.
func checkBinding(t *testing.T, public [32]byte, signature [64]byte, token wamble.Token, challenge [32]byte) {
	t.Helper()
	for i := range public {
		p := public
		p[i] ^= 1
		if VerifyLogin(p, signature, token, challenge) {
			t.Errorf("accepted with byte %d of the key changed", i)
		}
	}
	for i := range signature {
		s := signature
		s[i] ^= 1
		if VerifyLogin(public, s, token, challenge) {
			t.Errorf("accepted with byte %d of the signature changed", i)
		}
	}
	for i := range token {
		k := token
		k[i] ^= 1
		if VerifyLogin(public, signature, k, challenge) {
			t.Errorf("accepted with byte %d of the token changed", i)
		}
	}
	for i := range challenge {
		c := challenge
		c[i] ^= 1
		if VerifyLogin(public, signature, token, c) {
			t.Errorf("accepted with byte %d of the challenge changed", i)
		}
	}
}

// The points of order 1, 2, 4 and 8, canonical or not. With S = 0 and R the
// identity they would pass for every message that hashes right.
func TestLoginRefusesSmallOrder(t *testing.T) {
	keys := []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	}
	var identity [64]byte
	identity[0] = 1
	for _, k := range keys {
		public := [32]byte(unhex(t, k))
		for i := range 16 { // one of them would hit for a key of order 8
			if VerifyLogin(public, identity, wamble.Token{1}, [32]byte{byte(i)}) {
				t.Errorf("%s is accepted", k)
			}
		}
		a, err := new(edwards25519.Point).SetBytes(public[:])
		if err != nil || !isSmallOrder(a) {
			t.Errorf("%s: %v, not of small order", k, err)
		}
	}
}

// S and S + L name the same point; only the first is a signature.
func TestLoginRefusesLargeS(t *testing.T) {
	token, challenge := wamble.Token{5}, [32]byte{6}
	public, signature := signBLAKE2b(t, counting(9, 32), func(public [32]byte) []byte {
		m := wamble.LoginMessage(public, token, challenge)
		return m[:]
	})
	order := unhex(t, "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
	carry := 0
	for i := range order {
		carry += int(signature[32+i]) + int(order[i])
		signature[32+i] = byte(carry)
		carry >>= 8
	}
	if VerifyLogin(public, signature, token, challenge) {
		t.Error("S + L is accepted")
	}
}

func TestLoginRefusesNoPoint(t *testing.T) {
	var public [32]byte
	public[0] = 2 // no point has y = 2
	if VerifyLogin(public, [64]byte{}, wamble.Token{}, [32]byte{}) {
		t.Error("a key that is no point is accepted")
	}
}

func FuzzVerifyLogin(f *testing.F) {
	f.Add(unhex(f, "2b4788ff5dfa85079b02dd844303d35a5b355c0fc8ee551c032bf2b1aeaf2911"), make([]byte, 64))
	f.Fuzz(func(t *testing.T, public, signature []byte) {
		if len(public) != 32 || len(signature) != 64 {
			return
		}
		// No key signs this challenge by chance.
		if VerifyLogin([32]byte(public), [64]byte(signature), wamble.Token{1}, [32]byte{2}) {
			t.Errorf("forged: %x %x", public, signature)
		}
	})
}

func BenchmarkVerifyLogin(b *testing.B) {
	private := ed25519.NewKeyFromSeed(counting(0x20, 32))
	public := [32]byte(private.Public().(ed25519.PublicKey))
	m := wamble.LoginMessage(public, wamble.Token{}, [32]byte{})
	signature := [64]byte(ed25519.Sign(private, m[:]))
	for b.Loop() {
		if !VerifyLogin(public, signature, wamble.Token{}, [32]byte{}) {
			b.Fatal("refused")
		}
	}
}
