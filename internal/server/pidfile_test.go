package server

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPidFile: the process id is in the state directory while the server runs; a second
// server is refused, a stale file is not an obstacle.
func TestPidFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := conf(`(def state-dir "` + dir + `")`)
	if err := os.WriteFile(PidFile(dir), []byte("999999999\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, Options{}, text).ready()
	if got, err := os.ReadFile(PidFile(dir)); err != nil || string(got) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("the pid file says %q, %v", got, err)
	}
	_, err := Open(Options{Dir: t.TempDir(), Config: loadConf(t, text)})
	if err == nil || !strings.Contains(err.Error(), "a server with process number "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second server: got %v", err)
	}
	s.end()
	if _, err := os.Stat(PidFile(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pid file is still there: %v", err)
	}
	if err := os.Symlink("/dev/null", PidFile(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: t.TempDir(), Config: loadConf(t, text)}); err == nil {
		t.Error("a symbolic link was followed")
	}
	if err := errors.Join(os.Remove(PidFile(dir)), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: t.TempDir(), Config: loadConf(t, text)}); err == nil ||
		!strings.Contains(err.Error(), "everybody may write") {
		t.Errorf("a directory of everybody: got %v", err)
	}
}
