// Package admin has the table of the commands that the host of a server can give, and the
// interfaces that accept them.
//
// Its nouns, and the files that bear their names:
//
//   - a Command is one row of the table Commands (command.go, commands.go): its
//     arguments, required role, input for each profile, wording of the result, help,
//     form in the console and line in the documents;
//   - an Arg describes an argument once, for the command line, the console and
//     the audit log (argument.go); Arguments are the values of a command;
//   - a Host carries out commands on an API and its RunningProfiles, which are
//     structs of functions that package server provides (host.go);
//   - the control socket accepts commands of the owner of the data directory, and
//     Ask is its client (control.go); the console accepts them over HTTP with an admin
//     token (console.go, tokens.go); the audit log records who changed what (audit.go);
//   - Restrictions are the bans, the brown-out and the announcements of a profile, which
//     hold after a restart too (restrictions.go, brownout.go, announcements.go);
//   - Status and Reloaded describe the state of a server (status.go);
//     dead letters are messages that the database refused (deadletters.go);
//   - the doctor checks whether a server could run well (doctor.go).
//
// A new command is a row of Commands, and an input of package profile if profiles need a
// new one. The command line, the control socket, the console, the audit log and
// docs/operations.md follow from the table; the tests of this package walk it.
//
// Invariants:
//
//   - A command that changes something is in the audit log, on disk, before it is
//     carried out. No token of a player is ever in it.
//   - A command that is refused because of its arguments has changed nothing.
package admin
