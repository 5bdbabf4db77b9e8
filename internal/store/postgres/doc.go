// Package postgres is the store.Store for PostgreSQL.
//
// A Store connects at the first call. Apply sends a whole batch (BEGIN, the cursor, one
// statement per run of equal intents, with its rows as arrays for unnest) in one round trip,
// compares how many rows each statement affected with how many it was given, and sends COMMIT
// in a second one. Only if a count is too low does a further query distinguish a row that was
// stored before from one that contradicts it or is missing.
//
// The server keeps no state beyond a transaction: no named statements, no session settings, no
// session locks. So a pooler such as PgBouncer can be used, but not with Options.IdleTransaction,
// which is a setting of the connection, nor for Connect. synchronous_commit is set in each
// transaction that writes, because an applied batch is deleted from the journal.
package postgres
