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
	if err := f.Write(state); err != nil {
		t.Fatal(err)
	}
	return f.Path()
}

func TestStateFile(t *testing.T) {
	dir := private(t)
	state := bytes.Repeat([]byte("state "), 100_000)
	path := write(t, dir, "club", state)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != int64(headerSize+len("club")+len(state)) {
		t.Errorf("got %v bytes, mode %v, %v", info.Size(), info.Mode(), err)
	}
	got, err := Read(path, "club")
	if err != nil || !bytes.Equal(got, state) {
		t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(state))
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

// TestStateFileDamaged: every cut and every flipped bit is found.
func TestStateFileDamaged(t *testing.T) {
	testDamaged(t, write(t, private(t), "club", []byte("a state")))
}

func testDamaged(t *testing.T, path string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := decodeState(whole[:n], "club"); !errors.Is(err, ErrStateFile) {
			t.Errorf("cut at %d: got %v", n, err)
		}
		for bit := range 8 {
			bent := bytes.Clone(whole)
			bent[n] ^= 1 << bit
			if _, err := decodeState(bent, "club"); !errors.Is(err, ErrStateFile) {
				t.Errorf("bit %d of byte %d: got %v", bit, n, err)
			}
		}
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

func FuzzState(f *testing.F) {
	path := write(f, private(f), "club", []byte("a state"))
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		state, err := decodeState(b, "club")
		if n := len(state) + headerSize + 4; err == nil && n != len(b) {
			t.Errorf("%d bytes of state in %d", len(state), len(b))
		}
	})
}
