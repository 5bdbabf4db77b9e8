package pgtest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"wamble/internal/store/postgres"
)

// Dump returns the pg_dump of a database.
func Dump(t testing.TB, o postgres.Options) []byte {
	t.Helper()
	return tool(t, nil, "pg_dump", "-Fc", "--no-owner", "-d", o.DSN())
}

// Restored returns a new database on the shared server, restored from a dump.
func Restored(t testing.TB, dump []byte) postgres.Options {
	t.Helper()
	o := Empty(t)
	tool(t, dump, "pg_restore", "--no-owner", "--exit-on-error", "-d", o.DSN())
	return o
}

// tool runs a program of PostgreSQL and returns its output.
func tool(t testing.TB, in []byte, name string, args ...string) []byte {
	t.Helper()
	bin, err := binaries("/usr/lib/postgresql")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &said)
	}
	return out
}
