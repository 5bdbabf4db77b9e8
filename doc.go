// Package wamble is the vocabulary that all rooms of the house share: plain
// values and the few interfaces between rooms, and no behaviour beyond
// reading and writing them as text.
//
//   - Token names a session, BoardID a board, Peer the far end of a packet.
//   - Denied is the one error that is meant for the eyes of a player; every
//     other error is "internal error" to him and detail in the log.
//
// Everything imports this package; it imports none of the others but chess.
package wamble
