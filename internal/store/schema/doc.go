// Package schema is what the two SQL stores share, so that a batch means the same to both: the
// checks before a database gets it (CheckAll), the runs that one statement writes (Runs,
// BoardChanges), the search for intents that cannot be written (Probe), the reading of rows
// (Scan), the reads themselves (Queries, in the SQL of a Dialect), and migrations with their
// versions (Migration, Status, Progress).
//
// It does not access a database: a store gives Queries the function that runs an Ask. A store loads
// its migration files, asks which are pending, and runs them under its own lock.
package schema
