// Package wamble is the vocabulary that all packages share: plain values, with no behaviour beyond
// conversion to and from text and a few rules that clients, server and stores must agree on.
//
//   - Token names a session, BoardID a board, Peer the remote end of a packet.
//   - Denied is the one error whose text a player sees; every other error is
//     "internal error" to the player and detail in the log.
//
// Every package may import this one; it imports no other package of the module.
package wamble
