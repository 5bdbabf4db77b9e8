// Package clienttest has a Wamble server for tests: it runs in the test's process, speaks UDP
// and WebSocket on one loopback port, follows the protocol in every detail of delivery, and
// answers according to a script.
//
//	server := clienttest.NewServer(t,
//		clienttest.Expect(wire.CtrlPlayerMove).Answer(8, wire.BoardUpdate{FEN: wire.Text(fen)}),
//		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "not your turn"),
//	)
//	c, err := client.Dial(ctx, server.UDP())
//
// Its nouns, and the files that bear their names:
//
//   - Server is the server. It answers hellos by itself, unless the script
//     expects them. Requests of connections that resume a session are counted
//     like any other.
//   - Step is one line of the script: the next expected request, and its
//     answers. An unexpected request fails the test, and so does a step that
//     does not happen.
//   - Faults simulate a bad network, without a clock: Lose, Drop, Double, Hold,
//     Disconnect.
package clienttest
