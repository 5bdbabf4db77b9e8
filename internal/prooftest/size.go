package prooftest

import (
	"hash/fnv"
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

// Soaking reports whether this is a run of `make soak`.
func Soaking() bool { return os.Getenv("WAMBLE_SOAK") == "1" }

// Sized returns the size that fits the run: test for `make test`, proof for `make
// proof`, soak for `make soak`.
func Sized[T any](test, proof, soak T) T {
	switch {
	case Soaking():
		return soak
	case proving:
		return proof
	}
	return test
}

// Part returns how much of whole fits the run, at least 1: an eightieth for `make
// test`, a twentieth for `make proof`, all for `make soak`. It returns 1 under the race
// detector, except for `make soak`.
func Part(whole int) int {
	if Raced && !Soaking() {
		return 1
	}
	return Sized(max(1, whole/80), max(1, whole/20), whole)
}

// Seed returns the seed of a random test and logs it: WAMBLE_SEED if that is set, a
// random one for `make proof` and `make soak`. In `make test` it depends on the name of
// the test alone, so that every run does the same.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if !proving && !Soaking() {
		h := fnv.New64a()
		_, _ = h.Write([]byte(t.Name()))
		seed = h.Sum64()
	}
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

// Random returns a random source that begins with Seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}
