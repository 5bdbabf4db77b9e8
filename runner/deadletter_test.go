package runner

import (
	"runtime"
	"strings"
	"testing"
)

// TestDropDeadLettersWhileReopening: a change of all dead letters that waits for the index
// while the runner is reopened does not touch that index afterwards.
func TestDropDeadLettersWhileReopening(t *testing.T) {
	r := openForTest(t)
	old := r.engine()
	old.ix.mu.Lock()
	done := make(chan error, 1)
	go func() {
		_, err := r.DropDeadLetters(t.Context(), DeadFilter{})
		done <- err
	}()
	buf := make([]byte, 1<<20)
	for !strings.Contains(string(buf[:runtime.Stack(buf, true)]), "eachPage") {
		runtime.Gosched()
	}
	// The last step of Reopen: another engine takes the place of the old one.
	other := openForTest(t)
	r.eng.Store(other.engine())
	old.ix.mu.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.eng.Store(old)
}
