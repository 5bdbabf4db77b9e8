// Package logstore keeps a runner in memory and in a log that others can go on
// with: the storage for a runner that moves to another machine when its own is lost.
//
//   - A [Log] is an append-only log with a fence: whoever claims it ends every
//     earlier holder, on whatever machine that is. Package pglog has one in
//     PostgreSQL, logtest one in memory.
//   - A [Storage] is a runner.Storage. Its rows are a B-tree in memory; one commit
//     is one record, appended before the tree changes.
//   - A checkpoint is all rows as records. It takes the place of the log before it,
//     so that the next holder has little to replay. It is made of a copy of the tree
//     (copy on write) while commits go on.
//
// A holder that is fenced, or does not know what became of a record, has failed: its
// backend promises nothing any more. The next one reads what the log has. So a record
// that was acknowledged is in every later life, and one that was not is there wholly
// or not at all.
//
//	record = version (1 byte, 1), time (8 bytes, ms since 1970), changes, CRC-32C
//	change = key length * 2 + 1 if it is deleted, key, and unless it is: value length, value
//
// Lengths are uvarints, other numbers big-endian.
package logstore
