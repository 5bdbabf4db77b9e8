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
	if code := run([]string{"migrate", "--data", dir, "--profile", "default"}, strings.NewReader(""), io.Discard,
		os.Stderr); code != 0 {
		t.Fatalf("migrate ended with %d", code)
	}
	for name, want := range map[string]uint32{filepath.Join(dir, "games.db"): owner, dir: owner,
		elsewhere: uint32(os.Geteuid())} {
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
	socket := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: inside, Net: "unix"},
		Err: os.NewSyscallError("connect", syscall.EACCES)}
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

// TestRemedy: what a permission error advises fits the user. The user of the server is not told
// to be root, because the server is not.
func TestRemedy(t *testing.T) {
	installServer(t)
	if err := os.Mkdir(installed.data, 0o700); err != nil {
		t.Fatal(err)
	}
	me := os.Geteuid()
	if me == 0 {
		me = 12345
		if err := os.Chown(installed.data, me, me); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		path      string
		owner, me int
		want      string
	}{
		"a file of root, for the server": {"/etc/wamble/wamble.conf", 0, me, "as root, 'chgrp " + groupName(me) +
			" /etc/wamble/wamble.conf; chmod 640 /etc/wamble/wamble.conf' lets the server read it"},
		"a file of root in its directory": {filepath.Join(installed.data, "games.db"), 0, me,
			"as root, 'chown -R " + userName(me) + " " + installed.data + "/games.db' gives it back"},
		"a file of root, for somebody else": {"/etc/wamble/wamble.conf", 0, me + 1,
			"give the command as root (sudo wamble …)"},
		"a file of the server, for anybody": {filepath.Join(installed.data, "games.db"), me, me + 1,
			"give the command as that user (sudo -u " + userName(me) + " wamble …)"},
	} {
		if got := remedy(c.path, false, c.owner, c.me); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
