// Package backup copies the games and the journal of a data directory while a server
// plays on it, brings them back, and says whether a directory is sound.
//
// Its nouns:
//
//   - a Source is what is copied: a data directory and, if a server runs on it, what
//     that has to be asked (backup.go);
//   - a Manifest says what a backup holds (manifest.go);
//   - a Finding is what Check says of one part of a directory (check.go);
//   - Restore makes a data directory of a backup (restore.go).
//
// A backup has the stores first and the journal then. What goes from the journal to a
// store in between is in the kept messages, which the server holds meanwhile and which
// are copied last:
//
//	hold ─▶ stores, each of one moment ─▶ journal, of one moment ─▶ kept messages
//
// So every message behind the cursor of a copied store is there: kept, or in the copied
// journal. Everything that was acknowledged before the journal was copied is in the
// backup. Run checks that before it calls a backup whole.
package backup
