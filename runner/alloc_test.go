package runner_test

import (
	"testing"

	"wamble/runner"
)

func TestAllocsCodec(t *testing.T) {
	m := runner.Message{To: 7, ID: []byte("id"), Flags: runner.HasTrace, Trace: []byte("t"), Payload: make([]byte, 100)}
	buf := make([]byte, 0, 300)
	if n := testing.AllocsPerRun(100, func() {
		frame, err := m.Append(buf)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runner.DecodeMessage(frame); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a message is encoded and decoded with %v allocations, want 0", n)
	}
}
