package uci

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wamble/chess"
)

// Limit says how long a search may think: until the first of those that are not 0 is
// reached.
type Limit struct {
	Time  time.Duration // in milliseconds, at least 1
	Nodes int
	Depth int
	// Lines is how many different first moves the engine shall look at, if it can;
	// 0 means 1, and at most 16.
	Lines int
}

// maxLines is the most first moves of one search.
const maxLines = 16

// Result is what came of a search.
type Result struct {
	Move chess.Move
	// Lines are the first moves that the engine looked at, the best first; none if it
	// said nothing about them.
	Lines []Line
}

// Line is a first move and what the engine thinks of it.
type Line struct {
	Move  chess.Move
	Score Score
	Depth int
}

// Score is seen by the side to move. Mate is the number of moves to a mate, negative
// if the other side mates, 0 if there is none in sight.
type Score struct{ Centipawns, Mate int }

// Search lets the engine think about the position after the moves of a game, and
// returns its move. When ctx ends, the search is stopped and the engine stays usable;
// so it is when the engine needs much longer than the limit but obeys a stop, whose
// move counts.
func (e *Engine) Search(ctx context.Context, limit Limit, start chess.Position, moves ...chess.Move) (Result, error) {
	question := []byte("position fen ")
	question = start.AppendFEN(question)
	p := start
	for i, m := range moves {
		if !p.IsLegal(m) {
			return Result{}, fmt.Errorf("move %d, %s: %w", i+1, m, chess.ErrIllegal)
		}
		if i == 0 {
			question = append(question, " moves"...)
		}
		question = m.AppendUCI(append(question, ' '))
		p.Apply(m)
	}
	if p.CountLegal() == 0 {
		return Result{}, errors.New("there is no legal move to search for")
	}
	if err := e.prepare(start.Chess960(), limit.Lines); err != nil {
		return Result{}, err
	}
	if err := e.send(string(question)); err != nil {
		return Result{}, err
	}
	if err := e.send(limit.command()); err != nil {
		return Result{}, err
	}
	s := search{position: p}
	err := e.read(ctx, limit.Time+e.slack, s.take)
	if errors.Is(err, ErrTimeout) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		stopped := e.send("stop")
		if stopped == nil {
			stopped = e.read(context.WithoutCancel(ctx), e.patience, s.take)
		}
		if stopped != nil {
			return Result{}, e.end(stopped)
		}
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		err = nil
	}
	if err != nil {
		return Result{}, e.end(err)
	}
	return s.result(e.Name)
}

// prepare sets what the next search needs and the engine has not been told.
func (e *Engine) prepare(chess960 bool, lines int) error {
	if chess960 != e.chess960 {
		if err := e.Set(optionChess960, strconv.FormatBool(chess960)); err != nil {
			return err
		}
	}
	o, ok := e.Option(optionLines)
	if lines = max(1, min(lines, maxLines)); !ok || lines == e.lines {
		return nil
	}
	return e.Set(optionLines, strconv.Itoa(max(o.Min, min(lines, o.Max))))
}

func (l Limit) command() string {
	text := "go"
	if l.Time > 0 {
		text += fmt.Sprintf(" movetime %d", max(1, l.Time.Milliseconds()))
	}
	if l.Nodes > 0 {
		text += fmt.Sprintf(" nodes %d", l.Nodes)
	}
	if l.Depth > 0 {
		text += fmt.Sprintf(" depth %d", l.Depth)
	}
	if text == "go" {
		text = "go depth 1"
	}
	return text
}

// search collects what an engine says while it thinks.
type search struct {
	position chess.Position
	lines    [maxLines]Line
	best     string
}

// take reads one line, and reports whether it is the last.
func (s *search) take(line string) bool {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "info":
		s.info(strings.Fields(rest))
	case "bestmove":
		s.best, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		return true
	}
	return false
}

func (s *search) info(words []string) {
	var l Line
	place := 1
	number := func(i int) int {
		if i >= len(words) {
			return 0
		}
		n, _ := strconv.Atoi(words[i])
		return n
	}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "string":
			return
		case "multipv":
			place = number(i + 1)
		case "depth":
			l.Depth = number(i + 1)
		case "cp":
			l.Score.Centipawns = number(i + 1)
		case "mate":
			l.Score.Mate = number(i + 1)
		case "pv":
			if i+1 < len(words) && 1 <= place && place <= maxLines {
				if m, err := s.position.ParseUCI(words[i+1]); err == nil {
					l.Move = m
					s.lines[place-1] = l
				}
			}
			return
		}
	}
}

func (s *search) result(name string) (Result, error) {
	m, err := s.position.ParseUCI(s.best)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %s plays %.16q in %s", ErrIllegal, name, s.best, s.position)
	}
	r := Result{Move: m}
	for _, l := range s.lines {
		if l.Move == 0 {
			break
		}
		r.Lines = append(r.Lines, l)
	}
	return r, nil
}
