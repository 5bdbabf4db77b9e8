// Package prooftest sizes and repeats the long proofs: random tests that run for
// minutes with WAMBLE_SOAK=1, and for moments otherwise. WAMBLE_SEED repeats one.
// It also measures memory.
package prooftest

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// Heap collects the garbage and returns how many bytes are left.
func Heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// Soaking reports whether the proofs run at full length.
func Soaking() bool { return os.Getenv("WAMBLE_SOAK") == "1" }

// Sized returns whole if the proofs run at full length, and part otherwise.
func Sized[T any](part, whole T) T {
	if Soaking() {
		return whole
	}
	return part
}

// Part is a twentieth of whole, at least 1, unless the proofs run at full length;
// and 1 with -short, as the race detector sees them.
func Part(whole int) int {
	if testing.Short() {
		return 1
	}
	return Sized(max(1, whole/20), whole)
}

// Seed returns WAMBLE_SEED, or another seed each time, and says which.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("WAMBLE_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("WAMBLE_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("WAMBLE_SEED=%d", seed)
	return seed
}

// Random is a random source that begins with Seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
