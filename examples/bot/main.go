// Bot is a player that plays any legal move, on package client:
//
//	go run ./examples/bot [udp://localhost:8888] [moves]
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"

	"wamble/chess"
	"wamble/client"
)

func main() {
	address, moves := "udp://localhost:8888", 100
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if len(os.Args) > 2 {
		moves, _ = strconv.Atoi(os.Args[2])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, address, moves); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(ctx context.Context, address string, moves int) error {
	c, err := (&client.Dialer{Bot: true}).Dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	for at := c.Board(); moves > 0; moves-- {
		position, err := chess.ParseFEN(at.FEN)
		if err != nil {
			return err
		}
		legal := position.LegalMoves(nil)
		move := legal[rand.IntN(len(legal))].String()
		next, err := c.Play(ctx, move)
		if err != nil {
			return err
		}
		fmt.Printf("%s stays on board %d; here is board %d\n", move, at.ID, next.ID)
		at = next
	}
	return nil
}
