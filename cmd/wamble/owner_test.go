package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOwner: files that root makes in another user's data directory belong to that user
// afterwards, but no file with a second link outside it. Other users change nothing.
func TestOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	elsewhere := filepath.Join(t.TempDir(), "shadow")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := uint32(os.Geteuid())
	if owner == 0 {
		owner = 12345
		if err := os.Chown(dir, int(owner), int(owner)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(elsewhere, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"migrate", "--data", dir, "--profile", "default"}, strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		t.Fatalf("migrate ended with %d", code)
	}
	for name, want := range map[string]uint32{filepath.Join(dir, "games.db"): owner, dir: owner, elsewhere: uint32(os.Geteuid())} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != want {
			t.Errorf("%s is %d's, want %d", name, got, want)
		}
	}
}

// TestForeign: the error of a user without permission names the owner, and nothing more where
// that would not help.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	inside, me := filepath.Join(dir, "journal", "LOCK"), os.Geteuid()
	denied := &fs.PathError{Op: "open", Path: inside, Err: syscall.EACCES}
	socket := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: inside, Net: "unix"}, Err: os.NewSyscallError("connect", syscall.EACCES)}
	for _, c := range []struct {
		err  error
		me   int
		told bool
	}{
		{denied, me + 1, true},
		{fmt.Errorf("ask the server: %w", socket), me + 1, true},
		{denied, me, false},
		{&fs.PathError{Op: "open", Path: inside, Err: syscall.ENOENT}, me + 1, false},
		{&net.OpError{Op: "listen", Net: "tcp", Err: syscall.EACCES}, me + 1, false},
	} {
		got := foreign(c.err, c.me)
		if told := strings.Contains(got.Error(), dir+" belongs to "); told != c.told || !errors.Is(got, c.err) {
			t.Errorf("%v for %d: got %v", c.err, c.me, got)
		}
	}
}
