// Package client connects to a Wamble server: over UDP, or over WebSocket.
//
//	c, err := client.Dial(ctx, "udp://localhost:8888")
//	…
//	defer c.Close()
//	board, err := c.Play(ctx, "e2e4") // and you are on another board
//
// Its nouns, and the files that bear their names:
//
//   - Client is one session with a server; Dialer holds its settings.
//   - Board is the board that the player holds. Play moves on it.
//   - Watch is a stream of boards for a spectator.
//   - Event is something that no request asked for: a board that was
//     taken back, a notice, the connection that broke and was resumed.
//   - Profile, Stats, Leaderboard, Prediction, Reservation are answers.
//
// A session belongs to its token: keep Client.Token and pass it to a Dialer to resume the
// session with its board. Login links the session to an Ed25519 key.
//
// Every method takes a context and returns when it ends. A refusal of the server is a
// *wamble.Denied; the other errors that a caller may handle are in errors.go.
//
// If the connection breaks, the client reconnects, resumes its session and sends the current
// request again: after growing pauses, or at once if the server said that it restarts. So reads
// and predictions may be requested twice, which does no harm; a move is never played twice, and
// Play returns ErrUncertain if it cannot know whether it was played.
//
// Package clienttest has a server for tests of programs that use this one.
package client
