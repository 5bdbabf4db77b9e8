//go:build proof

package server

import (
	"fmt"
	"testing"

	"wamble/internal/prooftest"
)

// TestHandoffLoad is TestHandoff with 200 clients.
func TestHandoffLoad(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	handOffUnderLoad(t, 2000, 180, prooftest.Sized(5, 5, 100))
}

// TestHandoffLarge is TestHandoff with 100,000 boards.
func TestHandoffLarge(t *testing.T) {
	prooftest.Needs(t, "minutes and 100,000 boards")
	handOffUnderLoad(t, 100_000, 180, prooftest.Sized(1, 1, 10))
}

// TestHandoffGrowing: a profile that still makes its boards is handed over as it is, and goes
// on making them afterwards. The handoff does not wait until all are made.
func TestHandoffGrowing(t *testing.T) {
	prooftest.Needs(t, "200,000 boards")
	const least = 200_000
	i := spawnImage(t, conf(fmt.Sprintf(`(def max-boards %d) (def min-boards %d)`, least, least)))
	until(t, "a tenth of the boards is there", func() bool { return boardsOf(i.status()) >= least/10 })
	done, err := i.handOff("")
	if err != nil {
		t.Fatal(err)
	}
	checkPhases(t, done)
	boards := boardsOf(i.status())
	if boards < least/10 || boards == least {
		t.Errorf("%d of %d boards are there right after the handoff", boards, least)
	}
	until(t, "more boards are made", func() bool { return boardsOf(i.status()) > boards })
	t.Logf("%d boards, frozen %v: %v", boards, done.Frozen.Duration(), done.Phases)
}
