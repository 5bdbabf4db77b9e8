package chess

import (
	"math/rand/v2"
	"testing"
)

// TestPacked: every position of random games, classical and Chess960, is the same after
// packing and unpacking.
func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for game := range 300 {
		p := Start()
		if game%2 == 1 {
			var err error
			if p, err = Chess960(rng.IntN(960)); err != nil {
				t.Fatal(err)
			}
		}
		for range 120 {
			packed := p.AppendPacked([]byte("x"))[1:]
			got, ok := Unpack(packed)
			if !ok || got != p || len(packed) != PackedSize {
				t.Fatalf("got %v %v, want %v", got, ok, p)
			}
			moves := p.LegalMoves(nil)
			if len(moves) == 0 {
				break
			}
			p = p.Play(moves[rng.IntN(len(moves))])
		}
	}
}

// TestUnpackRefuses: bytes that contradict the rules are refused.
func TestUnpackRefuses(t *testing.T) {
	good := Start().AppendPacked(nil)
	if _, ok := Unpack(bare(t, false)); !ok {
		t.Error("two kings are a position")
	}
	for _, tc := range []struct {
		name string
		bend func(b []byte) []byte
	}{
		{"too short", func(b []byte) []byte { return b[:37] }},
		{"too long", func(b []byte) []byte { return append(b, 0) }},
		{"unknown flag", func(b []byte) []byte { b[37] = 4; return b }},
		{"own piece on an empty square", func(b []byte) []byte { b[24+3] = 1; return b }},
		{"two kings", func(b []byte) []byte { b[8] |= 2; b[0] &^= 2; b[16] |= 2; return b }},
		{"full-move number 0", func(b []byte) []byte { b[34] = 0; return b }},
		{"half-move clock 65535", func(b []byte) []byte { b[32], b[33] = 255, 255; return b }},
		{"no double step", func(b []byte) []byte { b[36] = 1; return b }},
		{"file 9", func(b []byte) []byte { b[36] = 9; return b }},
		{"Chess960 without a right to castle", func([]byte) []byte { return bare(t, true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, ok := Unpack(tc.bend(append([]byte(nil), good...))); ok {
				t.Errorf("got %v, want nothing", got)
			}
		})
	}
}

// bare returns two kings, packed.
func bare(t *testing.T, chess960 bool) []byte {
	p, err := ParseFEN("4k3/8/8/8/8/8/8/4K3 w - - 0 1")
	if err != nil {
		t.Fatal(err)
	}
	p.chess960 = chess960
	return p.AppendPacked(nil)
}

// FuzzUnpack: accepted bytes are the position of their FEN.
func FuzzUnpack(f *testing.F) {
	for _, fen := range []string{
		StartFEN, "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 5", "1r2k1r1/8/8/8/8/8/8/1R2K1R1 b GBgb - 9 40",
		"8/8/8/8/8/4k3/4p3/4K3 w - - 0 1",
	} {
		p, err := ParseFEN(fen)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p.AppendPacked(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := Unpack(b)
		if !ok {
			return
		}
		if again, err := ParseFEN(p.FEN()); err != nil || again != p {
			t.Errorf("%s: got %v %v", p, again, err)
		}
	})
}

func BenchmarkUnpack(b *testing.B) {
	packed := Start().AppendPacked(nil)
	for b.Loop() {
		if _, ok := Unpack(packed); !ok {
			b.Fatal("refused")
		}
	}
}
