package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/profile"
	"wamble/internal/tape"
)

// recording is a short run of the default profile. alter may change the recorded outputs, so
// that the replay differs.
func recording(t *testing.T, alter func(step int, out *profile.Output)) []byte {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := profile.Options{Config: config.Defaults().Default, Seed: [32]byte{7}, Now: now}
	var recorded bytes.Buffer
	r, err := tape.NewRecorder(&recorded, o)
	if err != nil {
		t.Fatal(err)
	}
	p := profile.New(o)
	var out profile.Output
	for i, inputs := range [][]profile.Input{
		{&profile.Leased{Sequence: wamble.BoardIDs, Blocks: []wamble.Block{{First: 1, Count: 100}}}},
		{&profile.Ready{}},
		{&profile.Durable{Index: 1, Seq: 1}},
	} {
		p.Step(now, inputs, &out)
		alter(i+1, &out)
		if err := r.Step(now, inputs, &out); err != nil {
			t.Fatal(err)
		}
	}
	return recorded.Bytes()
}

func TestReplay(t *testing.T) {
	whole := recording(t, func(int, *profile.Output) {})
	other := recording(t, func(step int, out *profile.Output) {
		if step == 2 {
			out.Frames = profile.Frames{}
		}
	})
	for _, tc := range []struct {
		name, want string
		tape       []byte
		code       int
	}{
		{"whole", "3 steps replayed exactly\n", whole, 0},
		{"broken off", "2 steps replayed exactly; then the recording breaks off\n", whole[:len(whole)-1], 0},
		{"different", "step 2 at 2026-03-01T12:00:00Z differs in frames: 0 recorded, 1 replayed (inputs: ready)\n", other, 1},
	} {
		file := filepath.Join(t.TempDir(), "tape")
		if err := os.WriteFile(file, tc.tape, 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		code := run([]string{"replay", file}, nil, &out, &errOut)
		if got := out.String() + errOut.String(); code != tc.code || !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: got %d %q, want %d %q", tc.name, code, got, tc.code, tc.want)
		}
	}
}
