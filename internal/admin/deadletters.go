package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"wamble/internal/journal"
	"wamble/runner"
)

// DeadLetter is a message of the journal that the database refused for good, as the control
// socket shows it.
type DeadLetter struct {
	Part     *int     `json:"part,omitempty"` // partition of the journal; nil if there is only one
	Worker   uint64   `json:"worker"`
	Number   uint64   `json:"number"`
	Time     int64    `json:"time"` // ms since 1970
	Cause    string   `json:"cause"`
	Reason   string   `json:"reason"`
	Attempts uint32   `json:"attempts"`
	Intents  []string `json:"intents"`
	// Details has the intents with their fields, without tokens.
	Details json.RawMessage `json:"details,omitempty"`
}

// DeadChoice selects dead letters: one by worker and number, those that match a filter, or
// the first ones.
type DeadChoice struct {
	partitionChoice
	Worker uint64             `json:"worker,omitempty"`
	Number uint64             `json:"number,omitempty"` // 0 does not select a single one
	Limit  int                `json:"limit,omitempty"`  // most to list; 100 if 0
	Filter *runner.DeadFilter `json:"filter,omitempty"` // nil does not filter
}

// DeadPage asks for complete dead letters: one by its row, or those from a row on that match
// the filter, as many as fit into an answer.
type DeadPage struct {
	Name   runner.Row        `json:"name,omitzero"` // zero does not select a single one
	From   runner.Row        `json:"from,omitzero"`
	Filter runner.DeadFilter `json:"filter,omitzero"`
}

// DeadDone is the result of a replay or drop: the row of a single dead letter, or a count.
type DeadDone struct {
	Worker uint64 `json:"worker,omitempty"`
	Number uint64 `json:"number,omitempty"`
	Count  int    `json:"count,omitempty"`
}

// The arguments of the commands about dead letters.
var (
	worker = Arg{Name: "worker", Kind: Number}
	number = Arg{Name: "number", Kind: Number}
	limit  = Arg{Name: "limit", Kind: Number}
	letter = Arg{Name: "name", Kind: Object}
	from   = Arg{Name: "from", Kind: Object}
	filter = Arg{Name: "filter", Kind: Object}
)

// The bounds of one answer: dead letters, and bytes of their frames.
const (
	mostDead      = 1000
	mostDeadBytes = 4 << 20
)

// pageDead returns complete dead letters. Their frames may have tokens, so the console does
// not offer this command.
func pageDead(_ context.Context, _ *Host, r *runner.Runner, p DeadPage) (any, error) {
	if p.Name.Seq != 0 {
		d, err := r.DeadLetter(p.Name)
		return []runner.DeadLetter{d}, err
	}
	list, size := []runner.DeadLetter{}, 0
	err := r.EachDeadLetter(p.Filter, p.From, func(d runner.DeadLetter) bool {
		list = append(list, d)
		size += len(d.Frame)
		return len(list) < mostDead && size < mostDeadBytes
	})
	return list, err
}

func listDead(_ context.Context, h *Host, c *Call) (any, error) {
	var choice DeadChoice
	if len(c.Args) > 0 {
		if err := json.Unmarshal(c.Args, &choice); err != nil {
			return nil, fmt.Errorf("which dead letter: %w", err)
		}
	}
	limit := choice.Limit
	if limit <= 0 {
		limit = 100
	}
	if choice.Number != 0 {
		r, err := h.journal(c.Args)
		if err != nil {
			return nil, err
		}
		d, err := r.DeadLetter(choice.row())
		if err != nil {
			return nil, err
		}
		one := showDead(&d)
		one.Part = choice.Part
		return []DeadLetter{one}, nil
	}
	list, here := []DeadLetter{}, h.localPartitions()
	for _, part := range slices.Sorted(maps.Keys(here)) {
		found, err := here[part].DeadLetters(runner.DeadFilter{}, runner.Row{}, min(limit, mostDead)-len(list))
		if err != nil {
			return nil, err
		}
		for i := range found {
			one := showDead(&found[i])
			one.Part = partitionPointer(part)
			list = append(list, one)
		}
		if len(list) >= min(limit, mostDead) {
			break
		}
	}
	return list, nil
}

func replayDead(ctx context.Context, _ *Host, r *runner.Runner, choice DeadChoice) (any, error) {
	if choice.Filter != nil {
		n, err := r.ReplayDeadLetters(ctx, *choice.Filter)
		return DeadDone{Count: n}, err
	}
	to, err := r.ReplayDeadLetter(ctx, choice.row())
	return DeadDone{Worker: to.Worker, Number: to.Seq}, err
}

func dropDead(ctx context.Context, _ *Host, r *runner.Runner, choice DeadChoice) (any, error) {
	if choice.Filter != nil {
		n, err := r.DropDeadLetters(ctx, *choice.Filter)
		return DeadDone{Count: n}, err
	}
	return DeadDone{Worker: choice.Worker, Number: choice.Number}, r.DropDeadLetter(ctx, choice.row())
}

func (c DeadChoice) row() runner.Row { return runner.Row{Worker: c.Worker, Seq: c.Number} }

func showDead(d *runner.DeadLetter) DeadLetter {
	v := DeadLetter{
		Worker: d.Row.Worker, Number: d.Row.Seq, Time: diedAt(d), Cause: d.Cause.String(),
		Reason: d.Reason, Attempts: d.Attempts, Intents: []string{},
	}
	m, err := runner.DecodeMessage(d.Frame)
	if err != nil {
		return v // the frame is no message
	}
	// A message with another payload has no intents.
	views, _ := journal.Show(&m)
	for _, in := range views {
		v.Intents = append(v.Intents, in.Kind().String())
	}
	v.Details, _ = json.Marshal(views)
	return v
}

// diedAt returns the time of a dead letter in ms since 1970; 0 if it is not known.
func diedAt(d *runner.DeadLetter) int64 {
	if d.Time.IsZero() {
		return 0
	}
	return d.Time.UnixMilli()
}
