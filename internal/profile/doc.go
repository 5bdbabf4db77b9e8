// Package profile is one running profile: the room in which the others meet.
// It is pure. Step takes the time and what happened, decides, and says what is
// to be sent, kept and looked up; the caller owns sockets, journal and store.
//
// Its nouns, and the files that bear their names:
//
//   - a Profile is the state: link, boards, sessions, what waits (profile.go);
//   - an Input is one thing that happened: input.go has the table, and each type
//     stands in the file of its noun (packet.go, load.go, gate.go, kick.go …);
//   - an Output is all that follows from one step (output.go);
//   - a route is the row of one control code: what it needs and who handles it
//     (routes.go); handlers stand in hello.go, move.go, legal.go, goodbye.go …;
//   - the door is where package access is asked (door.go, terms.go);
//   - a seat is a board for a session; a player whose reservation is revoked is
//     told (seat.go, pass.go);
//   - the audience is who predicts and who watches (audience.go, predict.go,
//     spectate.go);
//   - a Load is a question to the store, and whoever waits for its answer
//     (load.go); a stranger has a token that is not in memory (stranger.go).
//
// # A step
//
//	inputs ──▶ link ──▶ route ──▶ rooms decide ──▶ one frame per request
//	                                   │                    │
//	                                   ▼                    ▼
//	                         answers, behind a gate    journal, one group
//	                                   ▲                    │
//	              packets ◀── release ─┴──── Durable ◀──────┘
//
// # The gate
//
// A step that makes frames opens a new gate, Output.Gate. Everything that is
// decided from then on is finished under it, and leaves when the input Durable
// has reached it. A step that makes none finishes under the last gate there is:
// it may have seen what that gate protects. So nothing is ever shown that a
// crash could undo, and no handler has to take care of that. Droppable intents (when
// a player was last seen) ride along with other frames and gate nothing.
//
// # Who is in memory
//
// Every board that is not archived, and every session with a link, a board or
// intents that the store does not have yet (drawn in package session). The
// messages that session counts are gates here: a gate is settled when the
// store's cursor has passed its last frame, and only then a session goes. So a
// load always reads what was written.
//
// # Invariants
//
//   - The same options and inputs give the same outputs, byte for byte.
//   - Nothing blocks, and every queue has a bound.
//   - A request is answered once: with its reply, or with an ERROR; what a
//     profile cannot decide now (the journal failed) is refused unreliably and
//     forgotten, so that its repetition is new.
//   - A request asks the store about nothing twice, so it ends.
//   - Requests of one token are decided in the order in which they came.
//   - A token that the store may know never becomes a new player while the
//     store cannot be asked.
package profile
