package play

import (
	"crypto"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// english is the word list of BIP-39 (MIT licence), sorted, one word per line.
//
//go:embed english.txt
var english string

var bip39 = strings.Fields(english)

// mnemonicWords is the number of words of an identity.
const mnemonicWords = 12

// bitsOfWord is the information of a word: the list has 2048.
const bitsOfWord = 11

// Mnemonic is the 128 random bits that an identity is made from. They are the whole secret of a player, at every server,
// and are written as twelve words, the same as in the browser client: words → seed of BIP-39 without a passphrase → its
// first 32 bytes are the secret key of RFC 8032.
type Mnemonic struct {
	Entropy [16]byte
	// Original says that they are those of a client of the original, whose words are of a list of its own, so that
	// they are written as 32 hexadecimal digits, and whose key is another one (see originalKey).
	Original bool
}

var (
	errCount = fmt.Errorf("an identity has %d words", mnemonicWords)
	// errSum says that all words exist, but their checksum is wrong.
	errSum = errors.New("these words do not belong together: one is wrong, or their order")
)

// String returns the words, separated by spaces, or the digits of the original's.
func (m Mnemonic) String() string {
	if m.Original {
		return hex.EncodeToString(m.Entropy[:])
	}
	// The words are the bits of the entropy, followed by the first four bits of its hash.
	sum := sha256.Sum256(m.Entropy[:])
	bits := append(m.Entropy[:], sum[0])
	words := make([]string, mnemonicWords)
	for i := range words {
		n := 0
		for j := i * bitsOfWord; j < (i+1)*bitsOfWord; j++ {
			n = n<<1 | int(bits[j/8]>>(7-j%8)&1)
		}
		words[i] = bip39[n]
	}
	return strings.Join(words, " ")
}

// parseMnemonic decodes twelve words in any case, separated by spaces, commas or line breaks. The error says what is
// wrong with them.
func parseMnemonic(text string) (Mnemonic, error) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
	if len(words) != mnemonicWords {
		return Mnemonic{}, fmt.Errorf("%w, not %d", errCount, len(words))
	}
	var bits [17]byte
	for i, word := range words {
		n, ok := slices.BinarySearch(bip39, word)
		if !ok {
			return Mnemonic{}, fmt.Errorf("word %d, %q, is none of the list", i+1, word)
		}
		for j := range bitsOfWord {
			at := i*bitsOfWord + j
			bits[at/8] |= byte(n>>(bitsOfWord-1-j)&1) << (7 - at%8)
		}
	}
	m := Mnemonic{Entropy: [16]byte(bits[:16])}
	if sum := sha256.Sum256(m.Entropy[:]); sum[0]>>4 != bits[16]>>4 {
		return Mnemonic{}, errSum
	}
	return m, nil
}

// parseIdentity decodes twelve words, or the 32 hexadecimal digits of a client of the original.
func parseIdentity(text string) (Mnemonic, error) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(Mnemonic{}.Entropy) {
		return Mnemonic{[16]byte(b), true}, nil
	}
	return parseMnemonic(text)
}

// Key returns the private key, a signer for Ed25519. It takes about a millisecond.
func (m Mnemonic) Key() crypto.Signer {
	if m.Original {
		return newOriginalKey(m.Entropy)
	}
	seed, err := pbkdf2.Key(sha512.New, m.String(), []byte("mnemonic"), 2048, ed25519.SeedSize)
	if err != nil {
		panic(err) // its parameters are constants
	}
	return ed25519.NewKeyFromSeed(seed)
}
