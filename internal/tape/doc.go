// Package tape records what a profile is told, and tells it again: the same
// inputs give the same outputs byte for byte, so a recording replays a run.
//
// Its nouns, and the files that bear their names:
//
//   - a Recorder writes the steps of a profile (recorder.go);
//   - a digest is the output of a step, in short (digest.go);
//   - Replay runs a recording again; a Difference is the first step that gave
//     something else (replay.go);
//   - a File is the recording of one life of a profile, a Series those of all
//     its lives (file.go).
//
// # A recording
//
// A recording is the magic and then blocks, in little endian:
//
//	length 4, CRC-32C 4, payload
//
// The first payload is the profile.Options, as JSON. Each other one is a step:
// the time in nanoseconds since 1970, the number of inputs, the inputs
// (profile.AppendInput), and the digest of the output. Numbers are varints.
//
// It holds the seed, and so the token of every player: keep it as secret as the
// store.
package tape
