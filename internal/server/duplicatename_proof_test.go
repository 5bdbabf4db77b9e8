//go:build proof && linux

package server

import (
	"strings"
	"testing"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
)

// TestPlacedDuplicateName: two machines with one name both report it; one with a unique name
// does not.
func TestPlacedDuplicateName(t *testing.T) {
	prooftest.Needs(t, "two minutes")
	t.Parallel()
	db := pgtest.Empty(t)
	const warning = "is called like this one"
	a := serve(t, Options{Lease: pglog.DefaultLease}, placedConf(db, "twin"))
	c := serve(t, Options{Lease: pglog.DefaultLease}, placedConf(db, "single"))
	b := serve(t, Options{Lease: pglog.DefaultLease, Instance: "another"}, placedConf(db, "twin"))
	for _, h := range []*here{a, b} {
		until(t, "the machine warns", func() bool { return strings.Contains(h.log.String(), warning) })
	}
	if strings.Contains(c.log.String(), warning) {
		t.Error("a machine with a name of its own was warned of")
	}
}
