package server

import (
	"errors"
	"strings"
	"testing"

	"wamble/internal/handoff"
)

// TestHandoffNotReady: a profile that is starting has nothing to hand over.
func TestHandoffNotReady(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{Dir: private(t)}, conf(""))
	var export *handoff.ExportError
	if err := s.HandOff(t.Context(), "", nil); !errors.As(err, &export) || export.Status != handoff.ExportNotReady {
		t.Errorf("without a binary: got %v, want %v", err, handoff.ExportNotReady)
	}
	s.running.changeMu.Lock()
	err := s.HandOff(t.Context(), "", nil)
	s.running.changeMu.Unlock()
	if !errors.As(err, &export) || export.Status != handoff.ExportNotReady ||
		!strings.Contains(err.Error(), "under way") {
		t.Errorf("during a reload: got %v, want %v", err, handoff.ExportNotReady)
	}
}
