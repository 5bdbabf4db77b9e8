package runner_test

import (
	"wamble/runner"
	"wamble/runner/runnertest"
)

func init() {
	runner.NewTestStorage = func() runner.Storage { return runnertest.NewMemory() }
}
