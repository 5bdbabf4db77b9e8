package handoff

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// private is a directory that only this user may write to.
func private(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, dir, profile string, state []byte) string {
	t.Helper()
	f, err := Create(dir, profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(func(yield func([]byte, error) bool) { yield(state, nil) }); err != nil {
		t.Fatal(err)
	}
	return f.Path()
}

func TestStateFile(t *testing.T) {
	dir := private(t)
	state := bytes.Repeat([]byte("state "), 100_000)
	path := write(t, dir, "club", state)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	got, err := Read(path, "club")
	if err != nil || len(got) != 1 || !bytes.Equal(got[0], state) {
		t.Fatalf("got %d slices, %v", len(got), err)
	}
	if _, err := Read(path, "other"); !errors.Is(err, ErrStateFile) {
		t.Errorf("of another profile: got %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(link, "club"); err == nil {
		t.Error("a symbolic link was followed")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, "club"); !errors.Is(err, ErrStateFile) {
		t.Errorf("a file that others may read: got %v", err)
	}
	if n, err := Sweep(dir); n != 1 || err != nil {
		t.Errorf("swept %d, %v; want 1", n, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no file", err)
	}
	if n, err := Sweep(filepath.Join(dir, "nowhere")); n != 0 || err != nil {
		t.Errorf("swept %d, %v in no directory", n, err)
	}
}

// TestStateFileDamaged: a file that is not whole is found.
func TestStateFileDamaged(t *testing.T) {
	path := write(t, private(t), "club", []byte("a state"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, "club"); !errors.Is(err, ErrStateFile) {
		t.Errorf("got %v", err)
	}
}

// TestCreateRefuses: errors are found before players have to wait.
func TestCreateRefuses(t *testing.T) {
	dir := private(t)
	if _, err := Create(filepath.Join(dir, "nowhere"), "club"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, "club"); err == nil {
		t.Error("everybody may write there")
	}
}
