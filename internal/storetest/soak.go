package storetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Rounds is a twentieth of the whole proof, unless WAMBLE_SOAK asks for all.
func Rounds(whole int) int {
	if os.Getenv("WAMBLE_SOAK") != "" {
		return whole
	}
	return max(1, whole/20)
}

// Random is a source with a seed that is logged, or given as WAMBLE_SEED.
func Random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("WAMBLE_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
