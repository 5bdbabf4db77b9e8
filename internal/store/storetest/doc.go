// Package storetest is the suite that every store.Store passes.
//
// Run covers every kind of intent and every read, and fails when a kind or a
// method of store.Queries has no case here. A case of an intent says what it
// stands on, what it must have done, and is played three ways: alone, once
// more as a later message (a dead letter that is replayed), and in one batch
// with what it stands on. The rest is about batches: the cursor, all or
// nothing, probes, times, limits, two profiles at once.
package storetest
