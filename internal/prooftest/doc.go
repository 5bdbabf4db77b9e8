// Package prooftest tells three kinds of runs apart: `make test`, which says the same on
// every machine; `make proof`, which runs what needs minutes, root or a machine for itself
// (build tag proof); and `make soak`, which runs for hours (WAMBLE_SOAK=1). It sizes
// random tests, chooses their seeds, judges figures that depend on the machine, and finds
// the programs that tests start.
package prooftest
