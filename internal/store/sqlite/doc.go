// Package sqlite is the store.Store of a host who runs no database server: one
// file beside the journal.
//
// A Store has one writer connection, which begins every transaction with BEGIN
// IMMEDIATE and runs with synchronous FULL over a write-ahead log, because a
// batch that was applied is deleted from the journal; and a small pool of
// connections that can only read. Apply writes the runs of a batch with
// prepared statements of up to 512 rows each. It expects every row to be new
// (the cursor keeps batches from coming twice); only when a count falls short
// does it roll back and go through the batch again one intent at a time, which
// says exactly what was there before.
//
// The schema has the names and the shape of package postgres. Times are whole
// microseconds since 1970, decimals are REAL rounded to four places.
package sqlite
