// Package postgres is the store.Store of a host who runs PostgreSQL.
//
// A Store opens its pool at the first call. Apply sends a whole batch (BEGIN,
// the step of the cursor, one statement per run of equal intents, its rows as
// arrays for unnest) in one round trip, compares how many rows each statement
// wrote with how many it was given, and sends COMMIT in a second one. Only
// where a count falls short does a further query tell a row that was there
// before from one that contradicts it or is missing.
//
// Nothing outlives a transaction on the server side: no named statements, no
// session settings, no session locks. So a pooler such as PgBouncer may stand
// between. synchronous_commit is set in each transaction that writes, because a
// batch that was applied is deleted from the journal.
package postgres
