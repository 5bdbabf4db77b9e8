// Package backup copies the games and the journal of a data directory while a server runs on
// it, restores them, and checks a data directory.
//
// Its nouns:
//
//   - a Source is a data directory to copy, with functions that ask the server that runs
//     on it, if any (backup.go, archive.go);
//   - a Manifest says what a backup has (manifest.go), with the size and SHA-256 of each File
//     (sums.go);
//   - a Finding is the result of Check for one part of a directory (check.go);
//   - Restore makes a data directory of a backup (restore.go).
//
// A backup copies the stores first and then the journal. Messages that leave the journal in
// between are among the retained messages, which the server does not delete meanwhile and
// which are copied last:
//
//	pin messages ─▶ stores, each of one moment ─▶ journal, of one moment ─▶ retained messages
//
// So every message after the cursor of a copied store is among the retained messages or in the
// copied journal, and everything that was acknowledged before the journal was copied is in
// the backup. Run checks that before it marks a backup as complete.
package backup
