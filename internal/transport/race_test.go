//go:build race

package transport

// slowdown divides long proofs when the race detector makes them slow.
const slowdown = 4
