package runner_test

import (
	"wamble/runner"
	"wamble/runner/memstore"
)

func init() {
	runner.NewTestStorage = func() runner.Storage { return memstore.New() }
}
