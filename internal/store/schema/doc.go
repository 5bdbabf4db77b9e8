// Package schema is what the two SQL stores agree on, so that a batch means the
// same to both: what is checked before a database sees it (CheckAll), the runs
// that one statement writes (Runs, BoardChanges), the search for what cannot be
// written (Probe), how rows are read (Scan), and migrations with their versions
// (Migration, Status, Progress).
//
// It speaks to no database. A store loads its own migration files, asks which
// are pending, and runs them under its own lock.
package schema
