// Package sqlite is the store.Store without a database server: one file beside the journal.
//
// A Store has one writer connection, which begins every transaction with BEGIN IMMEDIATE and
// runs with synchronous FULL over a write-ahead log, because an applied batch is deleted from
// the journal; and a small pool of connections that can only read. Apply writes the runs of a
// batch with prepared statements of up to 512 rows each. It expects every row to be new (the
// cursor prevents repeated batches); only if a count is too low does it roll back and write the
// batch again one intent at a time, which tells exactly what was stored before.
//
// The schema has the names and structure of package postgres. Times are microseconds since
// 1970, decimals are REAL rounded to four places.
package sqlite
