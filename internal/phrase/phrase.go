// Package phrase encodes an identity as twelve words, the same as the browser client: words → seed of
// BIP-39 without a passphrase → its first 32 bytes are the secret key of RFC 8032. The words are the whole
// secret of a player, at every server.
//
//   - Entropy is the 128 random bits that an identity is made from.
package phrase

import (
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// english is the word list of BIP-39 (MIT licence), sorted, one word per line.
//
//go:embed english.txt
var english string

var list = strings.Fields(english)

// Words is the number of words of an identity.
const Words = 12

// bitsOfWord is the information of a word: the list has 2048.
const bitsOfWord = 11

// Entropy is the secret that an identity is made from.
type Entropy [16]byte

var (
	errCount = fmt.Errorf("an identity has %d words", Words)
	// errSum says that all words exist, but their checksum is wrong.
	errSum = errors.New("these words do not belong together: one is wrong, or their order")
)

// String returns the words, separated by spaces.
func (e Entropy) String() string {
	// The words are the bits of the entropy, followed by the first four bits of its hash.
	sum := sha256.Sum256(e[:])
	bits := append(e[:], sum[0])
	words := make([]string, Words)
	for i := range words {
		n := 0
		for j := i * bitsOfWord; j < (i+1)*bitsOfWord; j++ {
			n = n<<1 | int(bits[j/8]>>(7-j%8)&1)
		}
		words[i] = list[n]
	}
	return strings.Join(words, " ")
}

// Parse decodes twelve words in any case, separated by spaces, commas or line breaks. The error says what
// is wrong with them.
func Parse(text string) (Entropy, error) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
	if len(words) != Words {
		return Entropy{}, fmt.Errorf("%w, not %d", errCount, len(words))
	}
	var bits [17]byte
	for i, word := range words {
		n, ok := slices.BinarySearch(list, word)
		if !ok {
			return Entropy{}, fmt.Errorf("word %d, %q, is none of the list", i+1, word)
		}
		for j := range bitsOfWord {
			at := i*bitsOfWord + j
			bits[at/8] |= byte(n>>(bitsOfWord-1-j)&1) << (7 - at%8)
		}
	}
	e := Entropy(bits[:16])
	if sum := sha256.Sum256(e[:]); sum[0]>>4 != bits[16]>>4 {
		return Entropy{}, errSum
	}
	return e, nil
}

// Key returns the private key of the words. It takes about a millisecond.
func (e Entropy) Key() ed25519.PrivateKey {
	seed, err := pbkdf2.Key(sha512.New, e.String(), []byte("mnemonic"), 2048, ed25519.SeedSize)
	if err != nil {
		panic(err) // its parameters are constants
	}
	return ed25519.NewKeyFromSeed(seed)
}
