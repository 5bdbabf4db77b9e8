package persist

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// appendUvarint writes what the standard library writes, for every length.
func TestAppendUvarint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(v uint64) {
		t.Helper()
		got, want := appendUvarint([]byte("x"), v), binary.AppendUvarint([]byte("x"), v)
		if !bytes.Equal(got, want) {
			t.Fatalf("%#x is % x, want % x", v, got, want)
		}
	}
	for bit := range 64 {
		for _, v := range []uint64{1 << bit, 1<<bit - 1, 1<<bit + 1, math.MaxUint64 >> bit} {
			check(v)
		}
		for range 1000 {
			check(rng.Uint64() >> bit)
		}
	}
	check(0)
	check(math.MaxUint64)
}
