// Package board is the boards of a profile and who may move on them. It is a
// pure room: it is handed the time, the numbers of new boards and its randomness,
// and returns what is to be stored as intents. Memory is the authority: every board
// that is not archived is in the Pool.
//
// Its nouns, and the files that bear their names:
//
//   - a Board is one game in progress: position, moves, holder, times;
//   - a ply is one move of it with who made it and when, in 12 bytes;
//   - the Pool is all boards, and the index of those that are free;
//   - a free board that is not in play is asleep (sleep.go): it is kept, and not dealt;
//   - Assign gives a player a board, Play takes his move, Due lets time pass;
//   - a holder who shows no sign of life is gone (gone.go): his board is free, and his
//     again if he returns before another has it;
//   - an alarm is when a board is to be looked at next;
//   - Finished is a game that is over and has left the pool.
//
// The states, and what leads from one to the other:
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
//   - About PerPlayer boards are in play for each who holds one; sleep changes neither
//     status nor version of a board.
//   - Time never goes back: an earlier now counts as the latest one seen.
//   - The same calls with the same randomness give the same results and intents.
//
// A *Board is the pool's own memory: look at it until the next call that
// changes the pool, and do not keep it.
package board
