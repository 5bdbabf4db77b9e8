package web_test

import (
	"context"
	"fmt"
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

// anyMove is a legal move of a position without a promotion, "" if none exists.
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

// TestProgramIsMarked: the wall and a watched board show that a program made the last move,
// and show it on no other board.
func TestProgramIsMarked(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 4) (def spectator-summary-hz 10)`))
	c, err := (&client.Dialer{Bot: true}).Dial(t.Context(), h.udp)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := fmt.Sprint(c.Board().ID)
	if _, err := c.Play(t.Context(), anyMove(c.Board().FEN, rand.New(rand.NewPCG(1, 1)))); err != nil {
		t.Fatal(err)
	}
	p := meet(t, desk)
	p.open(h.url + "/watch")
	p.until(`document.querySelectorAll('.tile[data-board]').length >= 2 && document.querySelector('.tile .bot')`)
	if got := see[[]string](p,
		`[...document.querySelectorAll('.tile:has(.bot)')].map(t => t.dataset.board)`); len(got) != 1 || got[0] != id {
		t.Errorf("boards %v are marked, want %s", got, id)
	}
	p.audit("wall with a program")
	p.press(`.tile[data-board="` + id + `"]`)
	p.until(`document.querySelector('.board-head [role="img"][aria-label="a program made the last move"]')`)
}
