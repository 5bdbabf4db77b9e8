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

// Limit is the bound of a search, which ends when one of Time, Nodes and Depth is reached. 0
// means no bound; if all three are 0, Depth is 1.
type Limit struct {
	Time  time.Duration // sent in whole milliseconds, at least 1
	Nodes int
	Depth int
	// Lines is for how many different first moves the engine should return a Line, if it can;
	// less than 1 means 1, more than 16 means 16.
	Lines int
}

// maxLines is the bound of Limit.Lines.
const maxLines = 16

// Result is what a search has found.
type Result struct {
	Move chess.Move
	// Lines has the first moves that the engine has reported, the best first. It is empty if
	// the engine reported none.
	Lines []Line
}

// Line is a first move with its score and the depth of the search for it.
type Line struct {
	Move  chess.Move
	Score Score
	Depth int
}

// Score is as seen by the side to move. Mate is the number of moves to a mate, negative if the
// other side mates, and 0 if the engine has found none.
type Score struct{ Centipawns, Mate int }

// Search sends the engine the position after the moves of a game and returns its move. When ctx
// ends, the search is stopped, its error is that of ctx, and the engine stays usable. A search
// that takes longer than Limit.Time and Config.Patience is stopped too; if the engine then
// answers within Config.Patience, its move is returned.
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

// prepare sets the options that the next search needs, if they have another value.
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

// search collects what an engine reports during a search.
type search struct {
	position chess.Position
	lines    [maxLines]Line
	best     string
}

// take reads one line and reports whether it is the last of the search.
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
