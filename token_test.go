package wamble_test

import (
	"testing"

	"wamble"
)

func TestTokenText(t *testing.T) {
	token := wamble.Token{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
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
