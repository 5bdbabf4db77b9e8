package server

import (
	"context"
	"encoding/json"
	"fmt"

	"wamble/internal/persist"
	"wamble/runner"
)

// DeadLetter is an intent that the database refused for good, as the control
// socket shows it.
type DeadLetter struct {
	Worker   uint64   `json:"worker"`
	Number   uint64   `json:"number"`
	Time     int64    `json:"time"` // ms since 1970
	Cause    string   `json:"cause"`
	Reason   string   `json:"reason"`
	Attempts uint32   `json:"attempts"`
	Intents  []string `json:"intents"`
	// Details are the intents with their fields. Tokens are not shown.
	Details json.RawMessage `json:"details,omitempty"`
}

// DeadChoice chooses dead letters: one by its name, or the first ones.
type DeadChoice struct {
	Worker uint64 `json:"worker,omitempty"`
	Number uint64 `json:"number,omitempty"` // 0: not one
	Limit  int    `json:"limit,omitempty"`  // at most; 100 if 0
}

const mostDead = 1000

func listDead(_ context.Context, s *Server, args json.RawMessage) (any, error) {
	choice, err := readChoice(args)
	if err != nil {
		return nil, err
	}
	limit := choice.Limit
	if limit <= 0 {
		limit = 100
	}
	var found []runner.DeadLetter
	if choice.Number != 0 {
		d, err := s.runner.DeadLetter(choice.row())
		if err != nil {
			return nil, err
		}
		found = []runner.DeadLetter{d}
	} else if found, err = s.runner.DeadLetters(runner.DeadFilter{}, runner.Row{}, min(limit, mostDead)); err != nil {
		return nil, err
	}
	list := []DeadLetter{}
	for i := range found {
		list = append(list, showDead(&found[i]))
	}
	return list, nil
}

func replayDead(ctx context.Context, s *Server, args json.RawMessage) (any, error) {
	choice, err := readChoice(args)
	if err != nil {
		return nil, err
	}
	to, err := s.runner.ReplayDeadLetter(ctx, choice.row())
	return DeadChoice{Worker: to.Worker, Number: to.Seq}, err
}

func dropDead(ctx context.Context, s *Server, args json.RawMessage) (any, error) {
	choice, err := readChoice(args)
	if err != nil {
		return nil, err
	}
	return choice, s.runner.DropDeadLetter(ctx, choice.row())
}

func readChoice(args json.RawMessage) (DeadChoice, error) {
	var c DeadChoice
	if len(args) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(args, &c); err != nil {
		return c, fmt.Errorf("which dead letter: %w", err)
	}
	return c, nil
}

func (c DeadChoice) row() runner.Row { return runner.Row{Worker: c.Worker, Seq: c.Number} }

func showDead(d *runner.DeadLetter) DeadLetter {
	v := DeadLetter{
		Worker: d.Row.Worker, Number: d.Row.Seq, Time: d.Time, Cause: d.Cause.String(),
		Reason: d.Reason, Attempts: d.Attempts, Intents: []string{},
	}
	m, err := runner.DecodeMessage(d.Frame)
	if err != nil {
		return v // a frame that is no message has no intents to show
	}
	// Neither has a message that is not of a journal.
	views, _ := persist.Show(&m)
	for _, in := range views {
		v.Intents = append(v.Intents, in.Kind().String())
	}
	v.Details, _ = json.Marshal(views)
	return v
}
