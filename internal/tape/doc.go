// Package tape records the inputs of a profile, and replays them: the same inputs give the same outputs
// byte for byte, so a recording replays a run.
//
// Its nouns, and the files that bear their names:
//
//   - a Recorder writes the steps of a profile (recorder.go);
//   - a digest summarizes the output of a step (digest.go);
//   - Replay runs a recording again; a Difference is the first step with another
//     output (replay.go);
//   - a File is the recording of one instance of a profile, a Series those of all
//     its instances (file.go).
//
// # A recording
//
// A recording is the magic and then blocks, in little endian:
//
//	length 4, CRC-32C 4, payload
//
// The first payload is the profile.Options as JSON. Each later one is a step: the time in nanoseconds since
// 1970, the number of inputs, the inputs (profile.AppendInput), and the digest of the output. Numbers are
// varints.
//
// A recording contains the seed, and so the token of every player: it must be kept as secret as the store.
package tape
