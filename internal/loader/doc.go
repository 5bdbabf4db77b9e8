// Package loader plays chess against a server from many addresses at once, with as little
// processor time as possible, and records every answer. It measures servers, and detects
// servers that lose accepted moves.
//
// Its nouns, and the files that bear their names:
//
//   - Run drives clients for a while and returns a Report.
//   - client is one player: a state machine over bytes with one request in
//     flight. It acknowledges, repeats, and resumes by its token.
//   - sockets are those of all clients. On Linux, against a server on this
//     machine, that is one socket which sends from a whole network of source
//     addresses; otherwise one socket each.
//   - Mode is what the clients request: one row of a table. In Spectate and Mixed
//     each client has a Role: a player, a watcher, a predictor, a reader. In JSON
//     one of ten speaks JSON (spoken).
//   - Accepted is a move that the server answered with success; a log stores
//     them, 16 bytes each.
//   - Latency is a histogram.
//   - Verify compares the accepted moves with a store.
//   - Echo is the least work that a server could do: the upper bound to compare
//     with.
//
// # A move
//
//	        ACK               BOARD_UPDATE
//	asked ───────▶ executed ───────────────▶ accepted
//	  │  ▲            │ ERROR 1009, 1008 ──▶ rejected
//	  └──┘ again      │ nothing, ERROR 1006
//	  │               ▼
//	  └─ given up ─▶ unresolved ── hello with the token, then the same move again
//
// An update before the ACK is a push, not an answer: a move counts as accepted only if it was
// executed. An unresolved move is sent again as a new request until it is accepted or rejected;
// the protocol guarantees that a stored move is answered with success however often it is sent.
// So the list of accepted moves is exact even if the server is killed or restarted, or packets
// are lost.
package loader
