package bot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"wamble/chess"
	"wamble/chess/novice"
	"wamble/chess/uci"
)

// Player chooses moves. Several bots call it at the same time.
type Player interface {
	// Choose returns a legal move of a position that has one.
	Choose(ctx context.Context, p chess.Position) (chess.Move, error)
	Close()
}

// Novice is the built-in player. With Seed 0 each move uses a new random seed, so that games
// differ.
type Novice struct{ novice.Player }

// Choose returns a beginner's move.
func (n Novice) Choose(_ context.Context, p chess.Position) (chess.Move, error) {
	if n.Seed == 0 {
		n.Seed = rand.Uint64()
	}
	m, ok := n.Player.Choose(p)
	if !ok {
		return 0, errors.New("there is no legal move")
	}
	return m, nil
}

// Close does nothing.
func (Novice) Close() {}

// EngineOptions configure engines.
type EngineOptions struct {
	uci.Config
	Count int // number of processes, at least 1
	// Set are options of the engine, which are set in this order.
	Set [][2]string
	// Prefer are options that are set if the engine has them.
	Prefer [][2]string
	Limit  uci.Limit
	// Variety is for how many plies of a game an engine plays one of its four best moves,
	// better ones more often, instead of the best.
	Variety int
	Seed    uint64
	// Log receives failures of engines; nil discards them.
	Log func(string)
}

// tries is how often engines are asked for one move before the built-in player makes it.
const tries = 3

// Engines is a Player of processes that speak UCI. A process that fails is started again.
type Engines struct {
	options  EngineOptions
	slots    chan *slot
	count    int
	chess960 bool      // the engines play Chess960; otherwise the built-in player does
	warnOnce sync.Once // logs once that they do not
}

// slot is one process, or the place of one that has failed.
type slot struct {
	engine *uci.Engine // nil if it has failed
	random *rand.Rand
}

// StartEngines starts all engines, so that a wrong command or option is reported at once.
func StartEngines(ctx context.Context, o EngineOptions) (*Engines, error) {
	o.Count = max(1, o.Count)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	e := &Engines{options: o, slots: make(chan *slot, o.Count)}
	for i := range o.Count {
		at := &slot{random: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		if err := e.start(ctx, at); err != nil {
			e.Close()
			return nil, err
		}
		_, e.chess960 = at.engine.Option("UCI_Chess960")
		e.count++
		e.slots <- at
	}
	return e, nil
}

func (e *Engines) start(ctx context.Context, at *slot) error {
	engine, err := uci.Start(ctx, e.options.Config)
	if err != nil {
		return err
	}
	set := slices.Clone(e.options.Set)
	for _, o := range e.options.Prefer {
		if _, ok := engine.Option(o[0]); ok {
			set = append(set, o)
		}
	}
	for _, o := range set {
		if err := engine.Set(o[0], o[1]); err != nil {
			engine.Close()
			return err
		}
	}
	if err := engine.NewGame(ctx); err != nil {
		engine.Close()
		return err
	}
	at.engine = engine
	return nil
}

// Name returns the name that the engine reports, or its command if the engine has failed.
func (e *Engines) Name() string {
	at := <-e.slots
	defer func() { e.slots <- at }()
	if at.engine == nil {
		return e.options.Command[0]
	}
	return at.engine.Name
}

// Choose waits for a free engine and returns its move. After several failures it returns the
// built-in player's move.
func (e *Engines) Choose(ctx context.Context, p chess.Position) (chess.Move, error) {
	if p.Chess960() && !e.chess960 {
		e.warnOnce.Do(func() { e.options.Log("the engine does not play Chess960: the built-in player does") })
		return Novice{}.Choose(ctx, p)
	}
	var at *slot
	select {
	case at = <-e.slots:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { e.slots <- at }()
	for try := range tries {
		m, err := e.choose(ctx, at, p)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
		e.options.Log(err.Error())
		if at.engine != nil {
			at.engine.Close()
			at.engine = nil
		}
		if err := sleep(ctx, time.Duration(try)*time.Second/2); err != nil {
			return 0, err
		}
	}
	e.options.Log(fmt.Sprintf("no engine has a move for %s: the built-in player makes it", p))
	return Novice{}.Choose(ctx, p)
}

func (e *Engines) choose(ctx context.Context, at *slot, p chess.Position) (chess.Move, error) {
	if at.engine == nil {
		if err := e.start(ctx, at); err != nil {
			return 0, err
		}
	}
	limit := e.options.Limit
	if p.Ply() < e.options.Variety {
		limit.Lines = 4
	}
	r, err := at.engine.Search(ctx, limit, p)
	if err != nil {
		return 0, err
	}
	if p.Ply() < e.options.Variety {
		return pick(r, at.random.Float64()), nil
	}
	return r.Move, nil
}

// temperature is the loss in hundredths of a pawn that makes a move e times less likely.
const temperature = 25

// pick chooses one of the lines at random by their scores; chance is from 0 to 1.
func pick(r uci.Result, chance float64) chess.Move {
	var weights []float64
	sum := 0.0
	for _, l := range r.Lines {
		w := 0.0
		if l.Score.Mate == r.Lines[0].Score.Mate { // lines with a different mate distance are never chosen
			w = math.Exp(float64(l.Score.Centipawns-r.Lines[0].Score.Centipawns) / temperature)
		}
		weights = append(weights, w)
		sum += w
	}
	for i, w := range weights {
		if chance -= w / sum; chance < 0 {
			return r.Lines[i].Move
		}
	}
	return r.Move
}

// Close ends the engines. Choose must not be running.
func (e *Engines) Close() {
	for range e.count {
		if at := <-e.slots; at.engine != nil {
			at.engine.Close()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
