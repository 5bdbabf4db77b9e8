package server

import (
	"errors"
	"testing"
	"time"

	"wamble/internal/store"
	"wamble/internal/store/postgres/pglog"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
)

// TestClaimsFollow: each claim of the journal takes the profiles over from the owners before
// it, whatever the clocks of the machines show. An earlier owner finds out that another one
// has held the journal since.
func TestClaimsFollow(t *testing.T) {
	t.Parallel()
	var log logtest.Memory
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var claims []*partition
	for _, skew := range []time.Duration{0, 5 * time.Second, -5 * time.Second, -time.Hour, time.Minute, 0} {
		wrong := skew
		k := &partition{storage: logstore.New(&log, "main",
			logstore.Options{Now: func() time.Time { return now.Add(wrong) }})}
		r, err := runner.Open(k.storage, runner.Options{Schema: JournalSchema, Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		if k.claimed, err = k.recordClaim(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		wrong -= 10 * time.Second // set back while it serves
		for i, before := range claims {
			if o := (store.Owner{Since: k.claimed}); !o.Follows(store.Owner{Since: before.claimed}) {
				t.Errorf("claim %d at %v does not follow claim %d at %v", len(claims), k.claimed, i, before.claimed)
			}
		}
		claims = append(claims, k)
		for i, k := range claims {
			_, err := r.Update(t.Context(), runner.AttemptPolicy{}, k.checkClaim)
			var held *pglog.HeldError
			if last := i == len(claims)-1; errors.As(err, &held) == last {
				t.Errorf("claim %d of %d: got %v", i, len(claims), err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
