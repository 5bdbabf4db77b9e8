package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wamble/internal/guard"
)

// TestPanicIsSurvived: a panic that ends no profile is logged, counted and dumped, but not
// each time: a client may repeat it at will.
func TestPanicIsSurvived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	for range 3 {
		s.first().reportPanic(guard.New("a test", "trouble"))
	}
	if n, _ := s.first().shards[0].failures(); n != 0 {
		t.Errorf("the profile has failed %d times", n)
	}
	if want := `wamble_panics_total{profile="default"} 3`; !strings.Contains(s.metrics(), want) {
		t.Errorf("the metrics lack %s", want)
	}
	s.end()
	files, _ := filepath.Glob(filepath.Join(dir, "panic-default-*.txt"))
	if len(files) != 1 {
		t.Fatalf("got %d dumps, want 1", len(files))
	}
	text, err := os.ReadFile(files[0])
	if info, _ := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 ||
		!strings.Contains(string(text), "dump_test.go") {
		t.Errorf("the dump: %v\n%s", err, text)
	}
	if n := strings.Count(s.log.String(), "a panic was caught; the server goes on"); n != 3 {
		t.Errorf("%d lines in the log, want 3", n)
	}
}
