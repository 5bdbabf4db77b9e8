// Package spectate decides who watches which boards, and what is sent to them. It is pure: it is told of
// every change of a board, and returns packets when they are due.
//
// Its nouns, and the files that bear their names:
//
//   - the Hub is all watchers of a profile and all boards they can see
//     (hub.go); Profile is what it needs of the profile around it;
//   - a Board is what spectators see of a board, an entry its copy in the hub, and
//     the log the order in which boards have changed (board.go, log.go);
//   - a watcher sees the summary of all boards, or the focus on one (watcher.go,
//     summary.go, focus.go);
//   - a Viewer asks to watch, and is admitted or not (request.go);
//   - a view is an encoded board, the same for all watchers (view.go);
//   - a bucket is a token bucket of packets (bucket.go).
//
// # A summary
//
// Changes are numbered. For each watcher the hub knows up to which change they were shown everything, and
// which older ones they were not shown yet:
//
//	      low          mid                top          last
//	───────┼────────────┼──────────────────┼────────────┼──▶ changes
//	 shown │   missing  │      shown       │    new     │
//
// Each turn shows what is new, the most recent first, and then, within the watcher's allowance, what is
// missing. New changes that are not shown become missing. So the newest always go first, and when few
// boards change every watcher has seen everything.
//
// Packets get lost. So everything is shown again from time to time ("missing" is set to all changes), with
// a new generation if boards have left since the last one.
//
// # Invariants
//
//   - A watcher's packets per second are bounded, and those of all together.
//   - A board is encoded once per change: watchers differ in token, generation and
//     one flag, which are written into a copy.
//   - A packet costs no allocation.
//   - The same calls give the same packets.
package spectate
