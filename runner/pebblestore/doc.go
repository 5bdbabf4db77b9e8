// Package pebblestore keeps a runner in a directory on disk, in the key-value store Pebble. It
// is a [runner.Storage]:
//
//	store := pebblestore.At("/var/lib/shop", pebblestore.Options{})
//	r, err := runner.Open(store, runner.Options{Create: true})
//
// # Nouns
//
//   - A [Storage] is the directory: one process at a time has it open.
//   - The backend is an open Pebble.
//   - The fence is between Pebble and the file system, and keeps a failed Pebble
//     from writing.
//   - A log file is Pebble's write-ahead log; zeros are written ahead of its records
//     if each commit is synced.
//   - A checkpoint is a directory with a consistent copy.
package pebblestore
