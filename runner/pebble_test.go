package runner_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
	"wamble/runner/runnertest"
)

func TestPebbleOnDisk(t *testing.T) {
	runnertest.Run(t, func(t *testing.T) runner.Storage { return runner.Pebble(t.TempDir(), nil, runner.Fsync) })
}

func TestPebbleInMemory(t *testing.T) {
	runnertest.Run(t, func(t *testing.T) runner.Storage { return runner.Pebble("/data/runner", vfs.NewMem(), runner.Write) })
}
