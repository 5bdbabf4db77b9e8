package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBinaries(t *testing.T) {
	install := func(dir string) string {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "initdb"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	debian, path := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)

	_, err := binaries(debian)
	if err == nil {
		t.Fatal("found binaries where there are none")
	}
	for _, want := range []string{"initdb, pg_ctl, postgres", "apt-get install", "WAMBLE_TEST_DSN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to name %q", err, want)
		}
	}
	if got, err := binaries(install(path)); got != path || err != nil {
		t.Errorf("in the PATH: got %q, %v, want %q", got, err, path)
	}
	install(filepath.Join(debian, "9/bin"))
	want := install(filepath.Join(debian, "15/bin"))
	if got, err := binaries(debian); got != want || err != nil {
		t.Errorf("two versions: got %q, %v, want the newest, %q", got, err, want)
	}
}
