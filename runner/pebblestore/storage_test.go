package pebblestore_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"wamble/runner"
	"wamble/runner/pebblestore"
	"wamble/runner/runnertest"
)

func TestPebbleOnDisk(t *testing.T) {
	t.Parallel()
	runnertest.Run(t, func(t *testing.T) runner.Storage { return pebblestore.At(t.TempDir(), pebblestore.Options{}) })
}

func TestPebbleInMemory(t *testing.T) {
	t.Parallel()
	runnertest.Run(t, func(t *testing.T) runner.Storage {
		return pebblestore.AtFS(vfs.NewMem(), "/data/runner", pebblestore.Options{Durability: pebblestore.Write})
	})
}
