package pebblestore_test

import (
	"os"
	"testing"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestGoldenDirectory opens a directory of the first version, with rows of most kinds in a
// table and in the log: it has all of them.
func TestGoldenDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/golden")); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}),
		runner.Options{Schema: runner.Version{Major: 1, Minor: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := r.Stats()
	if got, want := s.Journal.String(), "ff047fdf30dcf488a2a2da1dc6e0e135"; got != want || s.Epoch != 2 {
		t.Errorf("got journal %s, start %d, want %s, 2", got, s.Epoch, want)
	}
	rows, err := r.Inbox(7, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := ""
	for _, row := range rows {
		m, err := runner.DecodeMessage(row.Frame)
		if err != nil {
			t.Fatal(err)
		}
		ids += string(m.ID) + " "
	}
	if want := "b c d high e f g "; ids != want {
		t.Errorf("got messages %q, want %q", ids, want)
	}
	dead, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 10)
	if err != nil || len(dead) != 1 || dead[0].Reason != "no such board" {
		t.Errorf("got dead letters %+v and %v, want one without a board", dead, err)
	}
	timers, err := r.Timers(runner.TimerID{}, 10)
	if err != nil || len(timers) != 1 || timers[0].ID.Due().UnixMilli() != 4102444800000 {
		t.Errorf("got timers %+v and %v, want one of the year 2100", timers, err)
	}
	out, err := r.Outbox(0, 10)
	if err != nil || len(out) != 1 || string(out[0].Message) != "out" {
		t.Errorf("got outbox %+v and %v, want one row", out, err)
	}
	err = r.View(func(get func([]byte) ([]byte, error)) error {
		v, err := get([]byte("k"))
		if string(v) != "v" {
			t.Errorf("got state %q, want v", v)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
