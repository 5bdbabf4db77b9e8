package prooftest

import (
	"os/exec"
	"testing"
)

// Stockfish returns where the engine of the tests is. Debian has it in /usr/games,
// which is not on every PATH. A machine without it fails the test.
func Stockfish(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"stockfish", "/usr/games/stockfish"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no Stockfish: scripts/setup installs it")
	return ""
}
