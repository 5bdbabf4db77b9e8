//go:build !race

package pebblestore_test

const poolLoss = 0
