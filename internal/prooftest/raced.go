//go:build race

package prooftest

// Raced reports whether the race detector is on, which makes long tests slow.
const Raced = true
