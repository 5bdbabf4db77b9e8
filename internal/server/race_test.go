//go:build race

package server

// raced says that the race detector looks on, which makes long proofs slow.
const raced = true
