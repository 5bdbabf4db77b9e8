package memstore_test

import (
	"testing"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

func TestStore(t *testing.T) {
	runnertest.Run(t, func(*testing.T) runner.Storage { return memstore.New() })
}
