package web_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble/chess"
	"wamble/client"
)

// bots are players without a browser.
type bots struct {
	moves atomic.Int64
	stop  context.CancelFunc
	all   sync.WaitGroup
}

// release lets n bots play, each a move every pace, until the test ends.
func release(t testing.TB, h *host, n int, pace time.Duration) *bots {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	b := &bots{stop: stop}
	for i := range n {
		b.all.Go(func() { b.play(ctx, h.udp, rand.New(rand.NewPCG(1, uint64(i))), pace) })
	}
	t.Cleanup(b.end)
	return b
}

func (b *bots) end() {
	b.stop()
	b.all.Wait()
}

func (b *bots) play(ctx context.Context, address string, r *rand.Rand, pace time.Duration) {
	var c *client.Client
	for c == nil && ctx.Err() == nil {
		c, _ = client.Dial(ctx, address)
	}
	if c == nil {
		return
	}
	defer c.Close()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		if uci := anyMove(c.Board().FEN, r); uci == "" {
			c.Hello(ctx)
		} else if _, err := c.Play(ctx, uci); err == nil {
			b.moves.Add(1)
		} else {
			c.Hello(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// anyMove is a legal move of a position that promotes nothing, "" if there is
// none.
func anyMove(fen string, r *rand.Rand) string {
	p, err := chess.ParseFEN(fen)
	if err != nil {
		return ""
	}
	moves := p.LegalMoves(nil)
	for _, i := range r.Perm(len(moves)) {
		if m := moves[i]; m.Promotion() == chess.None && !m.Castling() {
			return m.String()
		}
	}
	return ""
}
