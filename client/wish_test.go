package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"wamble/client"
	"wamble/client/clienttest"
	"wamble/wire"
)

// TestWish: a hello has the field for waiting or watching, and none if it must get a board.
func TestWish(t *testing.T) {
	for wish, want := range map[client.Wish]int64{client.WantBoard: 0, client.MayWait: 1, client.NoBoard: 2} {
		s := clienttest.NewServer(t, clienttest.Expect(wire.CtrlClientHello).Where(func(p *wire.Packet) error {
			if got, ok := p.Ext.Int(wire.KeyHelloWithoutBoard); got != want || ok != (want > 0) {
				return fmt.Errorf("wish %d: got %d, %v, want %d", wish, got, ok, want)
			}
			return nil
		}).AnswerWith(wire.Header{Token: [16]byte{1}}, wire.ServerHello{}))
		c, err := (&client.Dialer{Wish: wish}).Dial(t.Context(), s.WebSocket())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

// TestLeave: a player who leaves gives their board back and announces their return.
func TestLeave(t *testing.T) {
	overBoth(t, func() []*clienttest.Step {
		return []*clienttest.Step{clienttest.Expect(wire.CtrlClientGoodbye).Where(func(p *wire.Packet) error {
			if returns, _ := p.Ext.Int(wire.KeyGoodbyeReturns); returns != 1 {
				return errors.New("the goodbye does not announce a return")
			}
			return nil
		})}
	}, func(t *testing.T, ctx context.Context, s *clienttest.Server, c *client.Client) {
		if err := c.Leave(ctx); err != nil {
			t.Error(err)
		}
		if _, err := c.Play(ctx, "e2e4"); !errors.Is(err, client.ErrClosed) {
			t.Errorf("after it: %v, want ErrClosed", err)
		}
	})
}
