package bot

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/guard"
)

// Pool is a group of computer players, called bots, at one server.
type Pool struct {
	// Address is the server's address: udp://, ws:// or wss://.
	Address string
	Dialer  client.Dialer
	Player  Player
	// Pace is the average time that a bot takes for a move; each move takes between half and
	// one and a half of it, or longer if the player needs more time.
	Pace time.Duration
	// Log receives errors; nil discards them.
	Log func(string)

	connected, moves, refused atomic.Int64
}

// Figures count what the bots of a pool have done.
type Figures struct {
	Connected int   // bots with a session now
	Moves     int64 // moves that the server has accepted
	Refused   int64 // moves and hellos that the server has refused
}

// Figures returns the current figures. It may be called while Run runs.
func (p *Pool) Figures() Figures {
	return Figures{Connected: int(p.connected.Load()), Moves: p.moves.Load(), Refused: p.refused.Load()}
}

// Run keeps n bots playing until ctx ends; then they say goodbye and Run returns nil. It
// returns an error if all bots end before that, because the server refuses bots for good.
func (p *Pool) Run(ctx context.Context, n int) error {
	var all sync.WaitGroup
	failed := make(chan error, n)
	for range n {
		all.Go(func() {
			failed <- guard.Call("a bot", func() error { return p.RunOne(ctx) })
		})
	}
	all.Wait()
	close(failed)
	if ctx.Err() != nil {
		return nil
	}
	return <-failed
}

func (p *Pool) log(err error) {
	if p.Log != nil {
		p.Log(err.Error())
	}
}

// Bounds of the pause after a failure, and the time for a goodbye.
const (
	minPause       = 250 * time.Millisecond
	maxPause       = 30 * time.Second
	goodbyeTimeout = 3 * time.Second
)

// RunOne keeps one bot playing until ctx ends, or an error is final.
func (p *Pool) RunOne(ctx context.Context) error {
	dialer := p.Dialer
	dialer.Bot = true
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		conn, err := dialer.Dial(ctx, p.Address)
		if err == nil {
			dialer.Token = conn.Token()
			moved := p.moves.Load()
			p.connected.Add(1)
			err = p.play(ctx, conn)
			p.connected.Add(-1)
			p.leave(ctx, conn)
			if p.moves.Load() > moved {
				pause = minPause
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			return err
		}
		p.log(err)
		if errors.As(err, new(*wamble.Denied)) {
			p.refused.Add(1)
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
	}
}

// leave ends the session if ctx has ended, and otherwise only the connection: the next
// connection continues the session with its token.
func (p *Pool) leave(ctx context.Context, conn *client.Client) {
	if ctx.Err() == nil {
		conn.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbyeTimeout)
	defer cancel()
	conn.Goodbye(ctx)
	conn.Close()
}

// final reports whether an error is permanent: the address is invalid, or the server has
// refused the bot for good.
func final(err error) bool {
	if errors.Is(err, client.ErrAddress) {
		return true
	}
	d, ok := errors.AsType[*wamble.Denied](err)
	return ok && (d.Code == wamble.UnsupportedVersion || d.Code == wamble.AccessDenied && d.Blocking)
}

// play plays over one connection until it ends, and returns the reason.
func (p *Pool) play(ctx context.Context, conn *client.Client) error {
	for failures := 0; ; {
		b := conn.Board()
		if b.ID == 0 {
			if err := p.wait(ctx, conn); err != nil {
				return err
			}
			continue
		}
		err := p.move(ctx, conn, b)
		if ctx.Err() != nil || errors.Is(err, client.ErrClosed) {
			return err
		}
		if err == nil {
			failures = 0
			continue
		}
		// The board was taken away, or the outcome of the move is unknown: the answer to a
		// hello says which board the bot has now.
		if failures++; failures > 5 {
			return err
		}
		p.refused.Add(1)
		if err := sleep(ctx, time.Duration(failures)*minPause); err != nil {
			return err
		}
		if _, err := conn.Hello(ctx); err != nil {
			return err
		}
	}
}

// wait waits until the server gives the bot a board. After maxPause it sends a hello.
func (p *Pool) wait(ctx context.Context, conn *client.Client) error {
	within, cancel := context.WithTimeout(ctx, maxPause)
	defer cancel()
	for conn.Board().ID == 0 {
		_, err := conn.Event(within)
		if err != nil && within.Err() == nil {
			return err
		}
		if err == nil {
			continue
		}
		_, err = conn.Hello(ctx)
		return err
	}
	return nil
}

// move makes one move on a board, not sooner than the pace allows.
func (p *Pool) move(ctx context.Context, conn *client.Client, b client.Board) error {
	position, err := parse(b)
	if err != nil {
		return err
	}
	start := time.Now()
	m, err := p.think(ctx, conn, position)
	if err != nil {
		return err
	}
	if err := p.awaitPace(ctx, start); err != nil {
		return err
	}
	if _, err := conn.PlayOn(ctx, b.ID, m.String()); err != nil {
		return err
	}
	p.moves.Add(1)
	return nil
}

// awaitPace waits for the time of a move according to the pace; the board was received at start.
func (p *Pool) awaitPace(ctx context.Context, start time.Time) error {
	if p.Pace <= 0 {
		return nil
	}
	return sleep(ctx, p.Pace/2+rand.N(p.Pace)-time.Since(start))
}

// keepAliveEvery is the interval at which a thinking bot tells the server that it is alive.
const keepAliveEvery = 20 * time.Second

// think lets the player choose a move, and keeps the bot's board reserved meanwhile.
func (p *Pool) think(ctx context.Context, conn *client.Client, position chess.Position) (chess.Move, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var signs sync.WaitGroup
	defer signs.Wait()
	defer cancel()
	signs.Go(func() {
		guard.Run("a bot that thinks", func() {
			for sleep(ctx, keepAliveEvery) == nil {
				conn.Thinking(ctx)
			}
		}, nil)
	})
	return p.Player.Choose(ctx, position)
}

// parse reads a board's position. An original server sends only the placement and the side to
// move.
func parse(b client.Board) (chess.Position, error) {
	fen := b.FEN
	if strings.Count(fen, " ") == 1 {
		fen += " - - 0 1"
	}
	return chess.ParseFEN(fen)
}
