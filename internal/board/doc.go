// Package board is the boards of a profile and the right to move on them. It is pure: it is given the time,
// the numbers of new boards and its randomness, and returns what must be stored as intents. Memory is the
// authority: every board that is not archived is in the Pool.
//
// Its nouns, and the files that bear their names:
//
//   - a Board is one game in progress: position, moves, holder, times;
//   - a ply is one move of a game, with its session and time, in 12 bytes;
//   - the Pool is all boards, and the index of the free ones;
//   - a free board that is not in play is asleep (sleep.go): it is not assigned;
//   - Assign gives a player a board, Play makes a move, Due ends what has timed out;
//   - a holder without a sign of life is gone (activity.go): the board is free, and theirs
//     again if they return before it is assigned;
//   - an alarm is the time at which a board must be checked next;
//   - Finished is a game that is over and has left the pool.
//
// The states, and the transitions between them:
//
//	 create
//	   │           Assign                    Play
//	   ▼        ┌──────────► RESERVED ────────────┐
//	DORMANT ────┘             │  ▲  │             │
//	   ▲  ▲                   │  │  │ Play ends   │
//	   │  └───────────────────┘  │  │ the game    ▼
//	   │   Release, Leave, gone, │  │           ACTIVE
//	   │   reservation-timeout,  │  │             │ │
//	   │   taken for another     └──┼─────────────┘ │
//	   │                            ▼   Assign      │
//	   │                         ARCHIVED           │
//	   └────────────────────────────────────────────┘
//	                inactivity-timeout
//
// Invariants:
//
//   - A board is free (DORMANT or ACTIVE) or has exactly one holder (RESERVED),
//     who is to move. A session holds at most one board.
//   - Every change of a board raises its version by one and is one UpdateBoard.
//   - About PerPlayer boards are in play for each holder; sleep changes neither
//     status nor version of a board.
//   - Time never goes back: an earlier now counts as the latest one seen.
//   - The same calls with the same randomness give the same results and intents.
//
// A *Board is memory of the pool: it is valid until the next call that changes the pool, and must not be
// retained.
package board
