// Package handoff replaces the binary of a running server without dropping a packet. The
// process executes the new binary with exec. Open sockets and state files pass from the old
// image of the process to the new one, which finds them by environment variables.
//
// Its nouns, and the files that bear their names:
//
//   - Leave runs the steps of a handoff in the old image, and takes them back after a
//     failure (leave.go, leavefiles.go); a Process has what it needs of the running server;
//   - a Successor adopts the states in the new image, and returns the Result of the
//     handoff (succeed.go);
//   - Serve opens and runs a server, and returns to the old binary after a failure
//     (serve.go);
//   - an Inheritance is what the new image gets: descriptors by name, state files
//     by profile, and a Note (inheritance.go, sockets.go, note.go); environment.go
//     encodes it in environment variables;
//   - a File is the state of one profile on disk (statefile.go);
//   - an ExportStatus is the reason of a failure (export.go);
//   - Check runs a binary in check mode, which answers with a Verdict; Exec executes it
//     (check.go, exec_unix.go).
//
// # The variables
//
//	WAMBLE_HOT_RELOAD=1                      there is an inheritance
//	WAMBLE_PROFILES_INHERITED=name=fd,…      UDP sockets, by profile
//	WAMBLE_LISTENERS_INHERITED=name=fd,…     TCP and unix listeners: http/PROFILE, /admin, /control, /redirect
//	WAMBLE_STATE_FILES=name=path,…           state files, by profile; /letters is the outbox to other nodes
//	WAMBLE_HANDOFF={…}                       the note, in JSON
//
// In a path ',' and '%' are written as %2C and %25. The names of profiles have
// neither, nor '=' nor '/'.
//
// # The steps
//
//	old image: Leave                             new image: Serve
//	check    run the new binary in check mode
//	select   select the shards that have a state; make no more boards
//	files    create the files of the states
//	sockets  duplicate the descriptors
//	flush    stop the drain; flush the journal's memory
//	pause    finish requests of HTTP and control socket
//	freeze   stop the loops: nothing is read
//	state    write the states
//	exec ──────────────────────────────────────▶ Inherit: read and clear the variables
//	  │ fails: stay; nothing was closed          Begin, Adopt: the states, while the journal opens
//	  ◀────────────────────────────────────────    │ fails: retreat, exec of the old binary
//	                                               ▼ through a descriptor kept open
//	                                             the loops run; Finish: remove the states, answer
//
// # Invariants
//
//   - Input is bounded and validated: descriptors must be open; files must be private,
//     complete and of the named profile.
//   - The variables are removed from the environment first, and the descriptors close on
//     exec, so that no child process gets them.
//   - State files are removed after they were adopted. Files of a handoff that died are
//     removed at the next start.
package handoff
