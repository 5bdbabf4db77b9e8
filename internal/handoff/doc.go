// Package handoff is how a server replaces its own binary without dropping a
// packet: one image of the process leaves open sockets and state files to the
// next, and tells it in the environment.
//
// Its nouns, and the files that bear their names:
//
//   - Leave is the old image: the steps of a handoff in their order, and how they
//     are taken back (leave.go); a Server is what it needs of the server that runs;
//   - a Successor is the new image: it adopts the states, and says how the handoff
//     ended in a Result (succeed.go);
//   - Serve is the life of a process, with the way back to the old image (serve.go);
//   - an Inheritance is what the new image gets: descriptors by name, state files
//     by profile, and a Note (inheritance.go, sockets.go, note.go); environment.go
//     is its form in environment variables;
//   - a File is the state of one profile on disk (statefile.go);
//   - an ExportStatus says why nothing was handed over (export.go);
//   - Check runs a binary in check mode, whose answer is a Verdict; Exec becomes it
//     (check.go, exec_unix.go).
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
//	old image: Leave                             new image: Serve
//	check    the new binary, in check mode
//	whole    what this image was handed itself is taken in; worlds stop growing
//	slim     memory is given back, and what is left joined to large pages
//	files    room for the states; free boards of a large world are written ahead
//	sockets  descriptors that stay open
//	flush    the journal's memory; the drain stops
//	pause    HTTP and control socket come to rest
//	freeze   the loops rest: nothing is read
//	state    the states are written
//	exec ──────────────────────────────────────▶ Inherit: read and clear the variables
//	  │ fails: stay; nothing was closed          Begin, Adopt: the states, beside the journal
//	  ◀────────────────────────────────────────    │ fails: retreat, exec of the old binary
//	                                               ▼ through a descriptor kept open
//	                                             the loops run; Finish: remove the states, answer
//
// # Invariants
//
//   - Whatever is read is bounded, and nothing is believed: descriptors must be
//     open, files private, whole and of the profile that is named.
//   - The variables are gone from the environment before anything else happens,
//     and the descriptors close on the next exec: no child of the server gets
//     them.
//   - What was written ahead the new image takes in between its steps, from the file
//     that it has mapped: until that is done there is no other handoff.
//   - State files are removed by whoever has adopted them, not before; files that
//     a dead process left are swept at the next start.
package handoff
