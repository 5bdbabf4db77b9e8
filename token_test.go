package wamble_test

import (
	"testing"

	"wamble"
)

// TestShard: every token belongs to exactly one shard of any number, and one that is
// made that of a shard changes in no other bits.
func TestShard(t *testing.T) {
	for of := 1; of <= wamble.MaxShards; of *= 2 {
		for last := range 256 {
			token, owners := wamble.Token{1, 15: byte(last)}, 0
			for k := range of {
				s := wamble.Shard{k, of}
				if s.Owns(token) {
					owners++
				}
				made := token
				s.Own(&made)
				if !s.Owns(made) || int(made[15]) != last-last%of+k || made[0] != 1 {
					t.Fatalf("shard %d of %d makes %x of %x", k, of, made, token)
				}
			}
			if owners != 1 {
				t.Fatalf("%x has %d owners of %d", token, owners, of)
			}
		}
	}
	if !(wamble.Shard{}).Owns(wamble.Token{15: 255}) {
		t.Error("the only shard does not own every token")
	}
}

func TestTokenText(t *testing.T) {
	token := wamble.Token{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
		0xff}
	const text = "ABEiM0RVZneImaq7zN3u_w"
	if got := token.String(); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
	for _, tc := range []struct {
		name, text string
		ok         bool
	}{
		{"canonical", text, true},
		{"unused bits set", "ABEiM0RVZneImaq7zN3u_x", true},
		{"empty", "", false},
		{"too short", text[:21], false},
		{"too long", text + "A", false},
		{"padded", text[:20] + "==", false},
		{"standard alphabet", "ABEiM0RVZneImaq7zN3u/w", false},
		{"line break", text[:10] + "\n" + text[:11], false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := wamble.ParseToken(tc.text)
			if (err == nil) != tc.ok {
				t.Fatalf("got error %v, want ok %v", err, tc.ok)
			}
			want := wamble.Token{}
			if tc.ok {
				want = token
			}
			if got != want {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
	if !(wamble.Token{}).IsZero() || token.IsZero() {
		t.Error("IsZero is true of the zero token and of no other")
	}
}

// The shard of a session is in the last byte of its token, and halves when there are
// half as many.
func TestTokenShard(t *testing.T) {
	token := wamble.Token{0: 0xFF, 15: 0xB6}
	for n, want := range map[int]int{1: 0, 2: 0, 4: 2, 8: 6, 16: 6, 32: 22, 64: 54} {
		if got := token.Shard(n); got != want {
			t.Errorf("of %d: %d, want %d", n, got, want)
		}
	}
}
