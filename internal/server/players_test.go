package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/store"
)

// player plays random legal moves and records which were accepted.
type player struct {
	t      testing.TB
	c      *client.Client
	rng    *rand.Rand
	played []played
	// doubtful counts moves whose answer did not come: they may be played or not.
	doubtful int
	// refused counts moves that the server could not keep.
	refused int
	crowd   *crowd       // nil: alone
	number  int          // of the player in the crowd
	history history      // for the judge
	moves   atomic.Int64 // that were accepted
}

// played is a move that the server has accepted.
type played struct {
	board wamble.BoardID
	ply   int
	uci   string
}

// dialer waits for the answer to a hello for 15 s: a second hello would make another guest.
func dialer(token wamble.Token) *client.Dialer {
	return &client.Dialer{Token: token, Repeat: 250 * time.Millisecond, MinBackoff: 10 * time.Millisecond,
		MaxBackoff: 100 * time.Millisecond}
}

// dial says hello until a server answers, or the context ends.
func dial(ctx context.Context, address string, token wamble.Token) (*client.Client, error) {
	for {
		c, err := dialer(token).Dial(ctx, address)
		if !errors.Is(err, client.ErrTimeout) || ctx.Err() != nil {
			return c, err
		}
	}
}

// join lets a player join a server.
func join(t testing.TB, address string, token wamble.Token) *player {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dial(ctx, address, token)
	if err != nil {
		t.Fatalf("hello: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return &player{t: t, c: c, rng: rand.New(rand.NewPCG(rand.Uint64(), 0)), history: history{}}
}

// choose returns a legal move on a board, and the ply that it makes.
func (p *player) choose(b client.Board) (uci string, ply int, ok bool) {
	pos, err := chess.ParseFEN(b.FEN)
	if err != nil {
		p.t.Errorf("board %d: %v", b.ID, err)
		return "", 0, false
	}
	moves := pos.LegalMoves(nil)
	if len(moves) == 0 {
		p.t.Errorf("board %d: the game is over, but it is played: %s", b.ID, b.FEN)
		return "", 0, false
	}
	return moves[p.rng.IntN(len(moves))].String(), pos.Ply() + 1, true
}

// move plays one move and returns whether the player may go on.
func (p *player) move(ctx context.Context) bool {
	b := p.c.Board()
	if b.ID == 0 || strings.Count(b.FEN, " ") < 5 {
		// A server that does not know the address yet sends short answers,
		// without the whole position.
		call := clock.Add(1)
		seen, err := p.c.Hello(ctx)
		if err == nil {
			p.see(call, seen.Board)
		}
		return err == nil
	}
	uci, ply, ok := p.choose(b)
	if !ok {
		return false
	}
	call := clock.Add(1)
	next, err := p.c.PlayOn(ctx, b.ID, uci)
	p.history.add(p.number, b.ID, call, moveOp{ply, uci, err != nil})
	var denied *wamble.Denied
	switch {
	case err == nil:
		p.see(call, next)
		p.played = append(p.played, played{b.ID, ply, uci})
		p.moves.Add(1)
		if p.crowd != nil {
			p.crowd.moves.Add(1)
		}
		if next.ID == b.ID && (p.crowd == nil || !p.crowd.full) {
			p.t.Errorf("a move on board %d did not switch the board", b.ID)
		}
	case ctx.Err() != nil:
		p.doubtful++
		return false
	case errors.Is(err, client.ErrUncertain), errors.Is(err, client.ErrTimeout):
		p.doubtful++
		p.ask(ctx)
	case errors.As(err, &denied) && denied.Code == wamble.Internal:
		// The move may be kept, though no answer says so now.
		p.refused++
		p.ask(ctx)
	default:
		p.t.Errorf("board %d, %s at ply %d: %v", b.ID, uci, ply, err)
		return false
	}
	return true
}

// ask repeats the question for the player's board until it is answered.
func (p *player) ask(ctx context.Context) {
	for ctx.Err() == nil {
		call := clock.Add(1)
		if seen, err := p.c.Hello(ctx); err == nil {
			p.see(call, seen.Board)
			return
		}
		sleep(ctx, 5*time.Millisecond)
	}
}

// see records how many moves a board has that the player was shown in answer to a request. A
// short answer does not contain it.
func (p *player) see(call int64, b client.Board) {
	if b.ID == 0 || strings.Count(b.FEN, " ") < 5 {
		return
	}
	pos, err := chess.ParseFEN(b.FEN)
	if err != nil {
		p.t.Errorf("board %d: %v", b.ID, err)
		return
	}
	p.history.add(p.number, b.ID, call, viewOp{pos.Ply()})
}

// crowd is many players at once.
type crowd struct {
	full    bool // max-boards leaves some players no other board than the one they play on
	players []*player
	think   time.Duration // before each move; 0: the players move as fast as they can
	moves   atomic.Int64  // accepted so far
	over    atomic.Bool
	done    sync.WaitGroup
}

// gather lets n players join, who leave the processors to the servers as well.
func gather(t testing.TB, address string, n int) *crowd {
	t.Helper()
	c := &crowd{think: 20 * time.Millisecond}
	for range n {
		p := join(t, address, wamble.Token{})
		p.crowd, p.number = c, len(c.players)
		c.players = append(c.players, p)
	}
	return c
}

// play lets everybody play until finish.
func (c *crowd) play() {
	c.over.Store(false)
	for _, p := range c.players {
		c.done.Go(func() {
			for again := true; again && !c.over.Load(); {
				time.Sleep(c.think)
				ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
				again = p.move(ctx)
				if ctx.Err() != nil {
					p.t.Error("a player waits for ever")
				}
				cancel()
			}
		})
	}
}

// more waits until so many more moves were accepted.
func (c *crowd) more(t testing.TB, n int64) {
	t.Helper()
	want := c.moves.Load() + n
	until(t, "moves are accepted", func() bool { return c.moves.Load() >= want })
}

// finish lets all players end their current move.
func (c *crowd) finish() {
	c.over.Store(true)
	c.done.Wait()
}

// verify compares the players' answers with the store: every accepted move is there once, and
// nothing is there that nobody played.
func (c *crowd) verify(t testing.TB, store store.Queries) {
	t.Helper()
	c.verifyProfile(t, store, "")
}

// verifyProfile is verify for the boards of one profile.
func (c *crowd) verifyProfile(t testing.TB, store store.Queries, profile string) {
	t.Helper()
	stored, accepted, doubtful := c.verifyMoves(t, store, profile)
	if stored < accepted || stored > accepted+doubtful {
		t.Errorf("the store has %d moves, %d were accepted and %d are doubtful", stored, accepted, doubtful)
	}
	for board, picture := range c.judge(t, store, profile) {
		t.Errorf("board %d: what the players were told cannot have happened in any order: see %s", board, picture)
	}
	t.Logf("%d moves accepted, %d doubtful, %d stored", accepted, doubtful, stored)
}

// verifyMoves checks that the store has every accepted move once, and returns how many moves it has.
func (c *crowd) verifyMoves(t testing.TB, store store.Queries, profile string) (stored, accepted, doubtful int) {
	t.Helper()
	games := map[wamble.BoardID][]wamble.Move{}
	for b, err := range store.Games(context.Background(), wamble.GameFilter{Profile: profile}) {
		if err != nil {
			t.Fatal(err)
		}
		games[b.ID] = b.Moves
		stored += len(b.Moves)
		for i, m := range b.Moves {
			if m.Ply != i+1 {
				t.Errorf("board %d: move %d has ply %d", b.ID, i+1, m.Ply)
			}
		}
	}
	missing := 0
	for _, p := range c.players {
		doubtful += p.doubtful + p.refused
		for _, m := range p.played {
			accepted++
			g := games[m.board]
			if m.ply > len(g) || g[m.ply-1].UCI != m.uci {
				missing++
			}
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d accepted moves are not in the store", missing, accepted)
	}
	return stored, accepted, doubtful
}
