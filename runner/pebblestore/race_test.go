//go:build race

package pebblestore_test

// poolLoss is how many allocations more a post costs on average, because pools lose
// some of what they get back under the race detector.
const poolLoss = 2
