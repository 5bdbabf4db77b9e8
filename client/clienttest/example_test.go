package clienttest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"wamble"
	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

// A script says what is asked and what is answered; faults make the network
// bad. In a test, NewServer(t, …) does the same and fails the test.
func Example() {
	server, err := clienttest.Start(
		clienttest.Expect(wire.CtrlPlayerMove).Answer(8, wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 b")}),
		clienttest.Expect(wire.CtrlPlayerMove).Deny(wamble.MoveRejected, "not your turn"),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	d := client.Dialer{Repeat: 10 * time.Millisecond}
	c, err := d.Dial(ctx, server.UDP())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	server.Lose(wire.CtrlPlayerMove, 1) // the client sends it again
	board, err := c.Play(ctx, "e2e4")
	fmt.Println(board.ID, err)

	_, err = c.Play(ctx, "e2e4")
	fmt.Println(err)

	fmt.Println(server.Close())
	// Output:
	// 8 <nil>
	// denied (1009): not your turn
	// <nil>
}
