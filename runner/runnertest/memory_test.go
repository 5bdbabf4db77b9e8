package runnertest_test

import (
	"testing"

	"wamble/runner"
	"wamble/runner/runnertest"
)

func TestMemory(t *testing.T) {
	runnertest.Run(t, func(*testing.T) runner.Storage { return runnertest.NewMemory() })
}
