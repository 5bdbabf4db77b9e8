//go:build !proof

package prooftest

const proving = false
