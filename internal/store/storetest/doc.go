// Package storetest is the suite that every store.Store passes.
//
// Run covers every kind of intent and every read, and fails if a kind or a method of
// store.Queries has no case here. The case of an intent names the intents that it depends on
// and checks its effect; it is run three ways: alone, repeated as a later message (a replayed
// dead letter), and in one batch with its dependencies. The other cases are about batches: the
// cursor, atomicity, probes, times, limits, two profiles at once.
package storetest
