package postgres

import (
	"testing"

	"wamble/internal/intent"
)

// TestEveryKindIsWritten fails for a kind of intent without a row in writers.
func TestEveryKindIsWritten(t *testing.T) {
	for _, k := range intent.Kinds() {
		if writers[k] == nil {
			t.Errorf("%v has no writer", k)
		}
	}
	if got, want := len(writers), len(intent.Kinds()); got != want {
		t.Errorf("got %d writers, want %d: one per kind", got, want)
	}
}
