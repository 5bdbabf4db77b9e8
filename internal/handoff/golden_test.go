package handoff

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"wamble/internal/config"
)

var update = flag.Bool("update", false, "record a state of this version in testdata, beside the older ones")

// TestOlderStates: states that older processes wrote are adopted. If one cannot be any more,
// a handoff from such a process gives back: change the protocol of the handoff instead, which
// refuses it in the check.
func TestOlderStates(t *testing.T) {
	if *update {
		recordState(t, filepath.Join("testdata", "newest.state.gz"))
	}
	names, err := filepath.Glob("testdata/*.state.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no states: %v", err)
	}
	c, err := config.Load("", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		packed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := filepath.Join(private(t), "handoff-default.state")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		next := Begin(&Inheritance{States: map[string]string{c.Default.Name: path}}, []*config.Profile{c.Default})
		if err := next.Adopt(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// recordState writes the state of a server that has greeted a player.
func recordState(t *testing.T, name string) {
	t.Helper()
	s := serving(t)
	greet(t, s)
	l := newLeaving(s)
	defer l.rollBack()
	for _, do := range []func(context.Context) error{l.selectServing, l.makeFiles, l.flush, l.pause,
		l.freeze, l.writeStates} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(l.next.States[s.Profiles[0].Name()])
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
