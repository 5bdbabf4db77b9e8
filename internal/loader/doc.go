// Package loader plays chess against a server from many addresses at once, with
// as little processor time as it can, and tells exactly what it was told: so
// that a server can be measured, and caught when it loses a move it accepted.
//
// Its nouns, and the files that bear their names:
//
//   - Run drives clients for a while and returns a Report.
//   - client is one player: a state machine over bytes with one request under
//     way. It acknowledges, repeats, resumes by its token.
//   - sockets are those of all clients. On Linux, against a server on this
//     machine, that is one socket which sends from a whole network of source
//     addresses; elsewhere one socket each.
//   - Mode is what the clients ask for: one row of a table. In Spectate and Mixed
//     each client has a Role: a player, a watcher, a predictor, a reader. In JSON one
//     of ten speaks JSON (spoken).
//   - Accepted is a move that a server has answered with success; a log keeps
//     them, 16 bytes each.
//   - Latency is a histogram.
//   - Verify compares the accepted moves with a store.
//   - Echo is the least that a server could do: the ceiling to compare with.
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
// An update before the ACK is a push, and no answer: what counts as accepted was
// executed for sure. An unresolved move is asked again as a new request until it
// is accepted or rejected; the protocol promises that a move which was kept is
// answered with success however often it is asked. So the list of accepted moves
// is exact even over a server that is killed, restarted, or loses packets.
package loader
