// Package prooftest distinguishes three kinds of runs: `make test`, whose verdict is the same
// on every machine; `make proof`, for tests that need minutes, root or a machine for
// themselves (build tag proof); and `make soak`, which runs for hours (WAMBLE_SOAK=1). It
// sizes random tests, chooses their seeds, judges figures that depend on the machine, and
// finds the programs that tests start.
package prooftest
