package intent_test

import (
	"testing"

	"wamble/internal/intent"
)

// TestKinds walks the table of intents: every row makes an intent of its own
// kind, and no kind or name stands twice.
func TestKinds(t *testing.T) {
	kinds, names := map[intent.Kind]bool{}, map[string]bool{}
	for _, k := range intent.Kinds() {
		in := k.New()
		if in == nil || in.Kind() != k {
			t.Errorf("%v: New makes %T", k, in)
		}
		if kinds[k] || names[k.String()] {
			t.Errorf("%v stands twice", k)
		}
		kinds[k], names[k.String()] = true, true
	}
	if intent.Kind(12).New() != nil {
		t.Error("kind 12 has no role and makes nothing")
	}
	if got, want := intent.Kind(200).String(), "Kind(200)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
