package play

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// TestMnemonic: the vectors of BIP-39, and keys that the browser client makes of the
// same words.
func TestMnemonic(t *testing.T) {
	for _, c := range []struct{ entropy, words, public string }{
		{"00000000000000000000000000000000", strings.Repeat("abandon ", 11) + "about", "c5785e1865b708938aff8161d573006496663b1aa10834e396dc566869a2c66a"},
		{"7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f", "legal winner thank year wave sausage worth useful legal winner thank yellow", "c6f2ac5598970c79633714d3eb5c34d7bfc3e92da58c7354b37996d9a4af3ab2"},
		{"9e885d952ad362caeb4efe34a8e91bd2", "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic", "6b43f7dfcf12fab0075678b751adf3424433053f9ad5dd18b19ff59dda23aa29"},
	} {
		b, err := hex.DecodeString(c.entropy)
		if err != nil {
			t.Fatal(err)
		}
		e := Mnemonic{Entropy: [16]byte(b)}
		if got := e.String(); got != c.words {
			t.Errorf("%s: got %q, want %q", c.entropy, got, c.words)
		}
		if got, err := parseMnemonic(" " + strings.ReplaceAll(strings.ToUpper(c.words), " ", ",\n ")); err != nil ||
			got != e {
			t.Errorf("%q: got %x, %v, want %x", c.words, got, err, e)
		}
		if got := hex.EncodeToString(e.Key().(ed25519.PrivateKey)[32:]); got != c.public {
			t.Errorf("%s: got the key %s, want %s", c.entropy, got, c.public)
		}
	}
}

func TestBadMnemonic(t *testing.T) {
	words := strings.Repeat("abandon ", 11) + "about"
	for text, want := range map[string]string{
		"":                             "an identity has 12 words, not 0",
		words + " zoo":                 "an identity has 12 words, not 13",
		words[:len(words)-5] + "abuot": `word 12, "abuot", is none of the list`,
		strings.Repeat("abandon ", 12): "these words do not belong together: one is wrong, or their order",
	} {
		if _, err := parseMnemonic(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestWordList(t *testing.T) {
	if len(bip39) != 2048 || !slices.IsSorted(bip39) {
		t.Errorf("the list has %d words, sorted: %v; want 2048 sorted ones", len(bip39), slices.IsSorted(bip39))
	}
}
