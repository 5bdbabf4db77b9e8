//go:build !race

package prooftest

// Raced says that the race detector watches, which makes long tests slow.
const Raced = false
