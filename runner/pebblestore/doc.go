// Package pebblestore keeps a runner in a directory on disk, in the key-value
// store Pebble. It is a [runner.Storage]:
//
//	store := pebblestore.At("/var/lib/shop", pebblestore.Options{})
//	r, err := runner.Open(store, runner.Options{Create: true})
//
// # Nouns
//
//   - A [Storage] is the directory: one process at a time has it open.
//   - The backend is Pebble while it is open.
//   - The fence stands between Pebble and the file system, and keeps a Pebble
//     that has failed from the disk.
//   - A log file is Pebble's write-ahead log, to which zeros are appended ahead
//     of the records where each commit is synced.
//   - A bridge takes the first commits of a process that follows another at once,
//     while Pebble opens behind it.
//   - A checkpoint is a directory with a consistent copy.
package pebblestore
