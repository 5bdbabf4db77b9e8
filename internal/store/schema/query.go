package schema

import "wamble"

// The bounds of a single call.
const (
	maxScores   = 100
	maxSessions = 1000
	maxRanks    = 16
	MaxLease    = 1_000_000
	maxPast     = 256
)

// CheckLease checks the arguments of store.Store.Lease.
func CheckLease(seq wamble.Sequence, n int) error {
	if n < 1 || n > MaxLease {
		return Badf("lease %d numbers: 1 to 1,000,000 can be leased", n)
	}
	if int(seq) >= len(wamble.Sequences()) {
		return Badf("lease: there is no %v", seq)
	}
	return nil
}
