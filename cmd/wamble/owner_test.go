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

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// ownersDir returns a data directory of a user who is not root, if the test runs as root, and that user.
func ownersDir(t *testing.T) (string, int) {
	t.Helper()
	above := t.TempDir()
	dir := filepath.Join(above, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return dir, os.Geteuid()
	}
	for _, place := range []string{above, filepath.Dir(above)} {
		if err := os.Chmod(place, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	return dir, 12345
}

// TestOwnersLinks: root's commands follow no link in a data directory of another user to what only root may
// write, and make nothing there. The same commands do their work where there is no link.
func TestOwnersLinks(t *testing.T) {
	dir, owner := ownersDir(t)
	give := func(args ...string) (int, string) {
		var out strings.Builder
		code := run(args, strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	conf := filepath.Join(filepath.Dir(dir), "wamble.conf")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := []string{"--data", dir, "--config", conf}
	backups := t.TempDir() // of root alone, but for its name
	for _, place := range []string{backups, filepath.Dir(backups)} {
		if err := os.Chmod(place, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	journal := filepath.Join(dir, "journal")
	emptyJournal(t, journal, owner)
	for _, args := range [][]string{
		append([]string{"migrate"}, data...),
		append([]string{"backup", filepath.Join(backups, "whole")}, data...),
		append([]string{"backup", filepath.Join(backups, "whole.tar")}, data...),
		append([]string{"restore", filepath.Join(backups, "whole"), "--overwrite", "--verify"}, data...),
		append([]string{"restore", filepath.Join(backups, "whole.tar"), "--overwrite"}, data...),
		append([]string{"export", "pgn", "--out", filepath.Join(backups, "games.pgn")}, data...),
	} {
		if code, out := give(args...); code != 0 {
			t.Fatalf("%v ended with %d: %s", args, code, out)
		}
	}
	for place, want := range map[string]int{dir: owner, backups: os.Geteuid()} {
		err := filepath.WalkDir(place, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if _, got := ownerOf(name); got != want {
				t.Errorf("%s is %d's, want %d", name, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "shadow")
	if err := os.WriteFile(secret, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to string, names ...string) {
		t.Helper()
		for _, name := range names {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(name), os.Symlink(to, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	commands := [][]string{
		append([]string{"fsck"}, data...),
		append([]string{"migrate"}, data...),
		append([]string{"backup", filepath.Join(backups, "second")}, data...),
		append([]string{"restore", filepath.Join(backups, "whole"), "--overwrite"}, data...),
		{"runner", "salvage", "--dir", journal, filepath.Join(dir, "salvaged")},
		{"runner", "stat", "--dir", journal},
	}
	check := func(what string) {
		t.Helper()
		entries, err := os.ReadDir(outside)
		text, readErr := os.ReadFile(secret)
		if err != nil || readErr != nil || string(text) != "root's" || len(entries) != 1 {
			t.Errorf("%s: root's directory has %v, its file %d bytes (%v, %v)", what, entries, len(text), err, readErr)
		}
	}
	for _, args := range commands {
		if os.Geteuid() != 0 {
			break // nothing is another user's
		}
		link(secret, "restore-unfinished", "games.db", "games.db-wal", "journal/LOCK")
		give(args...)
		check(strings.Join(args, " ") + " with links to a file")
		link(outside, "journal", "kept", "restart")
		give(args...)
		check(strings.Join(args, " ") + " with links to a directory")
		if err := errors.Join(os.Remove(journal), os.Mkdir(journal, 0o700)); err != nil {
			t.Fatal(err)
		}
		emptyJournal(t, journal, owner)
	}
}

// emptyJournal makes the journal of a server in a directory, as a file of an owner.
func emptyJournal(t *testing.T, dir string, owner int) {
	t.Helper()
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}),
		runner.Options{Schema: journalSchema, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if os.Geteuid() != 0 {
			return err
		}
		return errors.Join(err, os.Lchown(name, owner, owner))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOwner: files that root makes in another user's data directory belong to that user, and no file
// outside it changes its owner. Other users change nothing.
func TestOwner(t *testing.T) {
	dir, uid := ownersDir(t)
	owner := uint32(uid)
	elsewhere := filepath.Join(t.TempDir(), "shadow")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
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
