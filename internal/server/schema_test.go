package server

import (
	"errors"
	"testing"

	"wamble/internal/journal"
	"wamble/runner"
	"wamble/runner/memstore"
)

// TestJournalSchema: a start upgrades an older journal to this version, and from then on an
// older program refuses it. After a handoff an older journal stays as it is, so that the
// former process can take it back. The journal of a newer program is served as it is, if that
// program allows it.
func TestJournalSchema(t *testing.T) {
	t.Parallel()
	older := runner.Options{Schema: journal.Oldest, Create: true, MinFree: -1}
	ours := runner.Options{Schema: JournalSchema, Create: true, MinFree: -1}
	if JournalSchema == journal.Oldest {
		t.Fatal("an older program would not refuse the journal")
	}
	next := runner.Version{Major: JournalSchema.Major, Minor: JournalSchema.Minor + 1}
	newer := func(needs runner.Version) runner.Options {
		return runner.Options{Schema: next, Needs: needs, MinFree: -1, Migrate: journal.Migrate}
	}
	storage := memstore.New()
	for _, step := range []struct {
		name string
		open func() (*runner.Runner, error)
		want runner.Version // zero: refused
	}{
		{"an older program", func() (*runner.Runner, error) { return runner.Open(storage, older) }, journal.Oldest},
		{"a handoff", func() (*runner.Runner, error) { return openJournal(storage, ours, true) }, journal.Oldest},
		{"the older program again", func() (*runner.Runner, error) { return runner.Open(storage, older) }, journal.Oldest},
		{"a start", func() (*runner.Runner, error) { return openJournal(storage, ours, false) }, JournalSchema},
		{"the next handoff", func() (*runner.Runner, error) { return openJournal(storage, ours, true) }, JournalSchema},
		{"the older program at last", func() (*runner.Runner, error) { return runner.Open(storage, older) }, runner.Version{}},
		{"a newer program that adds", func() (*runner.Runner, error) { return runner.Open(storage, newer(JournalSchema)) }, next},
		{"a start beside it", func() (*runner.Runner, error) { return openJournal(storage, ours, false) }, next},
		{"a handoff beside it", func() (*runner.Runner, error) { return openJournal(storage, ours, true) }, next},
		{"the newer one again", func() (*runner.Runner, error) { return openJournal(storage, newer(JournalSchema), false) }, next},
		{"a newer program that changes", func() (*runner.Runner, error) { return openJournal(storage, newer(next), false) }, next},
		{"a start after that", func() (*runner.Runner, error) { return openJournal(storage, ours, false) }, runner.Version{}},
		{"a handoff after that", func() (*runner.Runner, error) { return openJournal(storage, ours, true) }, runner.Version{}},
	} {
		r, err := step.open()
		if step.want == (runner.Version{}) {
			if !errors.Is(err, runner.ErrSchema) {
				t.Errorf("%s: %v", step.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := r.Stats().Schema; got != step.want {
			t.Errorf("%s: got schema %s, want %s", step.name, got, step.want)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
