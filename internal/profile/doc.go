// Package profile is the state and the decisions of one running profile. It connects the packages link,
// board, session, access, predict, spectate and reward. It is pure: Step takes the time and the inputs,
// decides, and returns what must be sent, written and looked up; the caller owns sockets, journal and
// store.
//
// Its nouns, and the files that bear their names:
//
//   - a Profile is the state, in groups: rules, network, people, pool, decisions,
//     storeView (profile.go);
//   - an Input is one thing that happened: input.go has the table, and each type is
//     in the file of its noun (packet.go, load.go, watermarks.go, kick.go …);
//   - an Output is everything that follows from one step (output.go);
//   - a route is the row of one control code: what it needs and which function handles
//     it (routes.go); the handlers are in hello.go, move.go, legal.go, goodbye.go …;
//   - authorization is the decision of package access (authorize.go, terms.go);
//   - assignBoard gives a session a board; a player whose reservation is revoked is
//     notified (assignboard.go, timers.go);
//   - the audience is predictions and spectators (audience.go, predict.go,
//     spectate.go);
//   - a Load is a query to the store, with the requests that wait for its answer
//     (load.go); an unknownToken is a token that is not in memory (unknowntoken.go).
//
// # A step
//
//	inputs ──▶ link ──▶ route ──▶ rooms decide ──▶ one frame per request
//	                                   │                    │
//	                                   ▼                    ▼
//	                         answers, held back        journal, one group
//	                                   ▲                    │
//	              packets ◀── release ─┴──── Durable ◀──────┘
//
// # The durable index
//
// A step that makes frames opens a new durable index, Output.DurableIndex. Everything that is decided from
// then on is finished under it, and leaves when the input Durable has reached it. A step without frames
// finishes under the last durable index: it may have read what that index protects. So no packet shows
// anything that a crash could undo, and handlers need not take care of that. Droppable intents (when a
// player was last seen) travel with other frames and open no durable index.
//
// # Who is in memory
//
// Memory has every board that is not archived, and every session with a link, a board or intents that the
// store does not have yet (drawn in package session). The messages that session counts are durable indexes
// here: the store has applied one when its cursor has passed the last frame (watermarks.go), and a session
// is evicted only then. So a load always reads what was written.
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
