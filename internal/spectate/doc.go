// Package spectate is who watches which boards, and what is sent to them. It is
// a pure room: it is told of every change of a board, and hands out packets when
// it is time for them.
//
// Its nouns, and the files that bear their names:
//
//   - the Hall is all watchers of a profile and all boards they can see
//     (hall.go); Profile is what it needs of the profile around it;
//   - a Board is what there is to see, an entry the hall's memory of it, and the
//     log the order in which boards changed (board.go, log.go);
//   - a watcher sees the summary of all boards, or the focus on one (watcher.go,
//     summary.go, focus.go);
//   - a Guest wants to watch, and is let in or not (request.go);
//   - a view is a board encoded, once for all who see it (view.go);
//   - a bucket is a token bucket of packets (bucket.go).
//
// # A summary
//
// Changes are numbered. Of each watcher is kept up to which number he has been
// shown everything, and which older ones he has not been shown yet:
//
//	      low          mid                top          last
//	───────┼────────────┼──────────────────┼────────────┼──▶ changes
//	 shown │   missing  │      shown       │    new     │
//
// Each turn shows what is new, the most recent first, and then, if his allowance
// lasts, what is missing. What is not shown in the first part is missing from
// then on. So the newest always go first, and when it gets quiet everybody has
// seen everything.
//
// Packets get lost. So everything is shown again now and then ("missing" is set
// to all changes), with a new generation if boards have left since the last one.
//
// # Invariants
//
//   - A watcher's packets per second are bounded, and those of all together.
//   - Nothing is encoded twice: watchers differ in token, generation and one flag,
//     which are written into a copy.
//   - A packet costs no allocation.
//   - The same calls give the same packets.
package spectate
