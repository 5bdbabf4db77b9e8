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

// PastWalk is how many boards a page of the past examines.
const PastWalk = 1 << 14

// CheckPast checks a query of store.Queries.Past.
func CheckPast(q wamble.PastQuery) error {
	if q.Limit < 1 || q.Limit > maxPast {
		return Badf("a page of the past has 1 to %d boards, not %d", maxPast, q.Limit)
	}
	return nil
}

// CheckScores checks a query of store.Queries.Scores.
func CheckScores(q wamble.ScoreQuery) error {
	if q.Limit < 1 || q.Limit > maxScores {
		return Badf("a page of scores has 1 to %d rows, not %d", maxScores, q.Limit)
	}
	return nil
}

// CheckSessions checks the limit of store.Queries.Sessions.
func CheckSessions(most int) error {
	if most < 1 || most > maxSessions {
		return Badf("1 to %d sessions can be read, not %d", maxSessions, most)
	}
	return nil
}

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
