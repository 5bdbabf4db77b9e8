// Package logstore keeps a runner in memory and in a log that another machine can continue: the
// storage for a runner that moves to another machine when its own is lost.
//
//   - A [Log] is an append-only log with a fence: a claim ends the claims of all
//     earlier holders, on any machine. Package pglog has one in PostgreSQL, logtest
//     one in memory.
//   - A [Storage] is a runner.Storage. Its rows are a B-tree in memory; one commit
//     is one record, appended before the tree changes.
//   - A checkpoint is all rows as records. It replaces the log before it, so that the
//     next holder has little to replay. It is made of a copy of the tree (copy on
//     write) while commits continue.
//
// A holder that is fenced, or does not know the fate of a record, has failed: its backend
// acknowledges nothing any more. The next holder reads the log. So an acknowledged record is
// present for all later holders, and an unacknowledged one is present as a whole or not at all.
//
//	record = version (1 byte, 1), time (8 bytes, ms since 1970), changes, CRC-32C
//	change = key length * 2 + 1 if it is deleted, key, and unless it is: value length, value
//
// Lengths are uvarints, other numbers big-endian.
package logstore
