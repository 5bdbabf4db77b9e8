package wamble_test

import (
	"testing"

	"wamble"
)

// TestKinds walks the table of intents: every row makes an intent of its own
// kind, and no kind or name stands twice.
func TestKinds(t *testing.T) {
	kinds, names := map[wamble.Kind]bool{}, map[string]bool{}
	for _, k := range wamble.Kinds() {
		in := k.New()
		if in == nil || in.Kind() != k {
			t.Errorf("%v: New makes %T", k, in)
		}
		if kinds[k] || names[k.String()] {
			t.Errorf("%v stands twice", k)
		}
		kinds[k], names[k.String()] = true, true
	}
	if wamble.Kind(12).New() != nil {
		t.Error("kind 12 has no role and makes nothing")
	}
	if got, want := wamble.Kind(200).String(), "Kind(200)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusNames(t *testing.T) {
	for s := wamble.Active; s <= wamble.Archived; s++ {
		if got, err := wamble.ParseBoardStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	for r := wamble.WhiteWins; r <= wamble.Draw; r++ {
		if got, err := wamble.ParseResult(r.String()); err != nil || got != r {
			t.Errorf("%v: got %v, %v", r, got, err)
		}
	}
	for s := wamble.Pending; s <= wamble.Expired; s++ {
		if got, err := wamble.ParsePredictionStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	if _, err := wamble.ParseBoardStatus("active"); err == nil {
		t.Error("lower case is no board status")
	}
	for _, s := range wamble.Sequences() {
		if s.String() == "" {
			t.Errorf("sequence %d has no name", s)
		}
	}
}
