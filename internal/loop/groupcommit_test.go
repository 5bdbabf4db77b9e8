package loop

import (
	"testing"

	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/runner"
	"wamble/runner/memstore"
)

// TestGroupCommitPanics: a panic in a group commit releases its lock, so that it ends the
// profile and does not hang it.
func TestGroupCommitPanics(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, panics := range map[string]func(*groupCommit){
		"settle":   func(j *groupCommit) { j.committed(nil, nil) },
		"begin":    func(j *groupCommit) { j.open = nil; j.begin() },
		"answered": func(j *groupCommit) { j.begun, j.open = true, nil; j.answered() },
	} {
		j := newGroupCommit(r, 1)
		if guard.Call(name, func() error { panics(j); return nil }) == nil {
			t.Errorf("%s does not panic", name)
		}
		if !j.mu.TryLock() {
			t.Errorf("%s holds the lock", name)
		}
	}
}
