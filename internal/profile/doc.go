// Package profile is the state and the decisions of one running profile. It connects the packages link,
// board, session, access, predict, spectate and reward. It is pure: Step takes the time and the inputs,
// decides, and returns what must be sent, written and looked up; the caller owns sockets, journal and
// store.
//
// Its nouns, and the files that bear their names:
//
//   - a Profile is the state: link, boards, sessions, waiting requests (profile.go);
//   - an Input is one thing that happened: input.go has the table, and each type is
//     in the file of its noun (packet.go, load.go, gate.go, kick.go …);
//   - an Output is everything that follows from one step (output.go);
//   - a route is the row of one control code: what it needs and which function handles
//     it (routes.go); the handlers are in hello.go, move.go, legal.go, goodbye.go …;
//   - the door asks package access (door.go, terms.go);
//   - a seat is a board for a session; a player whose reservation is revoked is
//     told (seat.go, pass.go);
//   - the audience is predictions and spectators (audience.go, predict.go,
//     spectate.go);
//   - a Load is a query to the store, with the requests that wait for its answer
//     (load.go); a stranger is a token that is not in memory (stranger.go).
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
// A step that makes frames opens a new gate, Output.Gate. Everything that is decided from then on is
// finished under it, and leaves when the input Durable has reached it. A step without frames finishes under
// the last gate: it may have read what that gate protects. So no packet shows anything that a crash could
// undo, and handlers need not take care of that. Droppable intents (when a player was last seen) travel
// with other frames and open no gate.
//
// # Who is in memory
//
// Memory has every board that is not archived, and every session with a link, a board or intents that the
// store does not have yet (drawn in package session). The messages that session counts are gates here: a
// gate is settled when the store's cursor has passed its last frame, and a session is evicted only then. So
// a load always reads what was written.
//
// # Invariants
//
//   - The same options and inputs give the same outputs, byte for byte.
//   - Nothing blocks, and every queue has a bound.
//   - A request is answered once: with its reply, or with an ERROR; a request that the
//     profile cannot decide now (the journal failed) is refused unreliably and
//     forgotten, so that its repetition is new.
//   - A request asks the store about the same subject once, so it ends.
//   - Requests of one token are decided in order of arrival.
//   - A token that the store may know never becomes a new player while the
//     store cannot be asked.
package profile
