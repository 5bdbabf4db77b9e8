package server

import (
	"errors"
	"strings"
	"testing"

	"wamble/internal/handoff"
)

// TestStateNotWritten: a state file that cannot be written when everything is
// frozen already: everything goes on.
func TestStateNotWritten(t *testing.T) {
	s := serve(t, Options{Dir: private(t)}, conf("")).ready()
	c := gather(t, s.address(), 4)
	c.play()
	c.more(t, 50)
	for range 3 {
		l := s.newLeaving("")
		if err := errors.Join(s.makeFiles(t.Context(), l), s.flushAhead(t.Context(), l), s.freezeAll(t.Context(), l)); err != nil {
			t.Fatal(err)
		}
		for _, f := range l.files {
			f.Remove() // closed: it takes nothing any more
		}
		var export *handoff.ExportError
		if err := s.writeStates(t.Context(), l); !errors.As(err, &export) || export.Status != handoff.ExportNotReady {
			t.Errorf("got %v, want %v", err, handoff.ExportNotReady)
		}
		s.stay(l)
		c.more(t, 50)
	}
	c.finish()
	s.end()
	verifySQLite(t, s.dir, c)
}

// TestHandoffNotReady: a profile that is starting has nothing to hand over.
func TestHandoffNotReady(t *testing.T) {
	s := serve(t, Options{Dir: private(t)}, conf(""))
	var export *handoff.ExportError
	if err := s.HandOff(t.Context(), "", nil); !errors.As(err, &export) || export.Status != handoff.ExportNotReady {
		t.Errorf("without a binary: got %v, want %v", err, handoff.ExportNotReady)
	}
	s.house.changing.Lock()
	err := s.HandOff(t.Context(), "", nil)
	s.house.changing.Unlock()
	if !errors.As(err, &export) || export.Status != handoff.ExportNotReady || !strings.Contains(err.Error(), "under way") {
		t.Errorf("during a reload: got %v, want %v", err, handoff.ExportNotReady)
	}
}
