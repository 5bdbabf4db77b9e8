// Package handoff is how a server replaces its own binary without dropping a
// packet: one image of the process leaves open sockets and state files to the
// next, and tells it in the environment.
//
// Its nouns, and the files that bear their names:
//
//   - an Inheritance is what the next image gets: descriptors by name, state
//     files by profile, and a Note (inheritance.go, note.go); environment.go is
//     its form in environment variables;
//   - a File is the state of one profile on disk (statefile.go);
//   - an ExportStatus says why there is nothing to inherit (export.go);
//   - Check runs a binary in check mode, Exec becomes it (check.go, exec_unix.go).
//
// # The variables
//
//	WAMBLE_HOT_RELOAD=1                      there is an inheritance
//	WAMBLE_PROFILES_INHERITED=name=fd,…      UDP sockets, by profile
//	WAMBLE_LISTENERS_INHERITED=name=fd,…     TCP and unix listeners: http/PROFILE, /admin, /control
//	WAMBLE_STATE_FILES=name=path,…           state files, by profile
//	WAMBLE_HANDOFF={…}                       the note, in JSON
//
// In a path ',' and '%' are written as %2C and %25. The names of profiles have
// neither, nor '=' nor '/'.
//
// # Who does what
//
//	old image                                    new image
//	Check: the new binary, once, in check mode
//	Create: room for the states
//	freeze, write the states
//	Exec ──────────────────────────────────────▶ Inherit: read and clear the variables
//	  │ fails: it thaws; nothing was closed      adopt, unlink the states, answer
//	  ◀──────────────────────────────────────────  │ cannot: Exec of the old binary,
//	                                               ▼ through a descriptor kept open
//
// # Invariants
//
//   - Whatever is read is bounded, and nothing is believed: descriptors must be
//     open, files private, whole and of the profile that is named.
//   - The variables are gone from the environment before anything else happens,
//     and the descriptors close on the next exec: no child of the server gets
//     them.
//   - State files are removed by whoever has adopted them, not before; files that
//     a dead process left are swept at the next start.
package handoff
