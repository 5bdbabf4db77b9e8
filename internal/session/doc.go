// Package session is about who a player is. It is a pure room: it takes plain
// values and returns plain values, and reads neither clock nor network.
//
// Its nouns, and the files that bear their names:
//
//   - a login proves that a session belongs to the holder of a key: the server
//     hands out a challenge, the client signs it (login.go).
package session
