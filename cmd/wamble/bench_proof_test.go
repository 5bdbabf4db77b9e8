//go:build proof

package main

import (
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"wamble/internal/prooftest"
	"wamble/internal/store/postgres/pgtest"
)

// TestBench runs the scripts in which wamble bench must finish in a short time.
func TestBench(t *testing.T) {
	prooftest.Needs(t, "a machine for itself")
	hearInterrupts(t)
	testscript.Run(t, testscript.Params{Dir: "testdata/proof"})
}

// TestBenchOfRunningServerWithPostgreSQL is TestBenchOfRunningServer with PostgreSQL.
func TestBenchOfRunningServerWithPostgreSQL(t *testing.T) {
	prooftest.Needs(t, "minutes")
	cluster := pgtest.Start(t, false)
	db := cluster.OverTCP(cluster.Migrated(t))
	benchRunning(t, fmt.Sprintf("(def db-host %q) (def db-port %d) (def db-user %q) (def db-pass %q) (def db-name %q) (def db-sslmode \"disable\")",
		db.Host, db.Port, db.User, db.Password, db.Name))
}
