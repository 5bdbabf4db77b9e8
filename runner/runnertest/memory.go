package runnertest

import "wamble/runner/memstore"

// NewMemory is memstore.New.
func NewMemory() *memstore.Store { return memstore.New() }
