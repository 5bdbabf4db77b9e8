// Package host is what the host of a server can tell it: the one table of
// commands, and the doors through which they come.
//
// Its nouns, and the files that bear their names:
//
//   - a Command is one row of the table Commands (command.go, commands.go): its
//     arguments, who may give it, what each profile is told, what is said of the
//     outcome, its help, its form in the console and its line in the documents;
//   - an Arg describes an argument once, for the command line, the console and
//     the audit log (argument.go); Arguments are the values of a command;
//   - a Host carries commands out on a Server and its Profiles, which are structs
//     of functions that package server provides (host.go);
//   - the control socket takes commands from the owner of the data directory, and
//     Ask is its client (control.go); the console takes them over HTTP from whoever
//     has the admin token (console.go); what changes something is noted in the audit
//     log first, with who wanted it (audit.go);
//   - Restrictions are the bans and the brown-out of a profile, which hold after a
//     restart too (restrictions.go, brownout.go, player.go);
//   - Status and Reloaded are what a server says of itself (status.go);
//     dead letters are what the database refused (deadletters.go);
//   - the doctor looks whether a server could run well (doctor.go).
//
// A new command is a row of Commands; if it tells a profile something new, that is
// an input of package profile. Nothing else: the tests of this package walk the
// table, and the command line, both doors, the audit log, the console's forms and
// docs/operations.md follow from it.
//
// Invariants:
//
//   - What changes something through either door is in the audit log, on disk,
//     before it is done. No token of a player is ever in it.
//   - A command that is refused because of its arguments has changed nothing.
package host
