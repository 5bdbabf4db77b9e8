package profile_test

import (
	"io"

	"wamble/internal/profile"
	"wamble/internal/tape"
)

func init() {
	profile.Tape.NewRecorder = func(w io.Writer, o profile.Options) (profile.Recorder,
		error) {
		return tape.NewRecorder(w, o)
	}
	profile.Tape.Replay = func(r io.Reader) (int, string, error) {
		steps, first, err := tape.Replay(r)
		if first != nil {
			return steps, first.String(), err
		}
		return steps, "", err
	}
}
