// Package client speaks to a Wamble server: over UDP, or over WebSocket.
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
//   - Watch is a stream of boards that a spectator sees.
//   - Event is what happens without having been asked for: a board that was
//     taken back, a notice, the connection that broke and was resumed.
//   - Profile, Stats, Leaderboard, Prediction, Reservation are answers.
//
// A session belongs to its token: keep Client.Token and give it to a Dialer to
// come back to the same board. Login ties the session to an Ed25519 key.
//
// Every method takes a context and returns when it ends. A refusal of the
// server is a *wamble.Denied; the other errors that a caller may want to tell
// apart are declared together in errors.go.
//
// When the connection breaks, the client reconnects by itself, resumes its
// session and sends again what was under way: with growing pauses, at once
// when the server has said that it restarts. Reads and predictions may so be
// asked twice, which does no harm; a move is never played twice, and Play tells
// when it cannot know (ErrUncertain).
//
// Package clienttest has a server for tests of programs that use this one.
package client
