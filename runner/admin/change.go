package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"wamble/runner"
)

// identify adds the state to the arguments of a message given by its id alone, and the number
// of a dead letter. If only dead letters may be changed, an id means a dead letter.
func (h *Handler) identify(verb string, a *Args) error {
	if a.All || a.Number != 0 || a.ID == "" {
		return nil
	}
	id, err := parseID(a.ID)
	if err != nil {
		return err
	}
	named := a.State != ""
	if !named {
		m, err := h.r.Message(a.Queue, id)
		if err != nil {
			return err
		}
		a.State = m.State.String()
		named = h.refused(verb, *a) == nil
	}
	if named && a.State != runner.Dead.String() {
		return nil
	}
	n, err := h.number(a.Queue)
	if err != nil {
		return err
	}
	dead, err := h.r.DeadLetters(runner.DeadFilter{Worker: n, HasWorker: true, ID: []byte(id)}, runner.Row{Worker: n},
		2)
	switch {
	case err != nil:
		return err
	case len(dead) > 1:
		return fmt.Errorf("several dead letters of queue %s have the id %q, name one by its number: %w", a.Queue, a.ID,
			runner.ErrInvalid)
	case len(dead) == 1:
		a.State, a.Number = runner.Dead.String(), dead[0].Row.Seq
	case named:
		return fmt.Errorf("dead letter %q in queue %s: %w", a.ID, a.Queue, runner.ErrNotFound)
	}
	return nil
}

// retry runs messages now. A dead letter is identified by its number, all other messages by
// their id, which is unique in a queue with a history.
func (h *Handler) retry(ctx context.Context, a Args) (any, error) {
	return h.change(ctx, a, h.r.ReplayDeadLetters, func(row runner.Row) error {
		_, err := h.r.ReplayDeadLetter(ctx, row)
		return err
	}, h.r.RetryMessage)
}

func (h *Handler) delete(ctx context.Context, a Args) (any, error) {
	return h.change(ctx, a, h.r.DropDeadLetters, func(row runner.Row) error { return h.r.DropDeadLetter(ctx, row) },
		h.r.DeleteMessage)
}

func (h *Handler) change(ctx context.Context, a Args, all func(context.Context, runner.DeadFilter) (int, error),
	dead func(runner.Row) error, one func(ctx context.Context, queue, id string) error) (any, error) {
	isDead := a.State == runner.Dead.String()
	switch {
	case isDead && (a.All || a.Number != 0):
		n, err := h.number(a.Queue)
		if err != nil {
			return nil, err
		}
		if a.All && a.Find != "" {
			return h.changeFound(n, a.Find, dead)
		}
		if a.All {
			return done(all(ctx, runner.DeadFilter{Worker: n, HasWorker: true}))
		}
		return done(1, dead(runner.Row{Worker: n, Seq: a.Number}))
	case a.All:
		return nil, fmt.Errorf("only dead letters can be changed all at once: %w", runner.ErrInvalid)
	}
	id, err := parseID(a.ID)
	if err != nil || id == "" {
		return nil, errors.Join(err, fmt.Errorf("name the message by its id: %w", runner.ErrInvalid))
	}
	return done(1, one(ctx, a.Queue, id))
}

// changeFound changes the dead letters of a queue that contain a text.
func (h *Handler) changeFound(queue uint64, text string, change func(runner.Row) error) (any, error) {
	var rows []runner.Row
	f := runner.DeadFilter{Worker: queue, HasWorker: true}
	err := h.r.EachDeadLetter(f, runner.Row{}, func(x runner.DeadLetter) bool {
		m := runner.MessageInfo{ID: string(x.Frame), Error: x.Reason, Payload: x.Frame}
		if frame, err := runner.DecodeMessage(x.Frame); err == nil {
			m.ID, m.Payload = string(frame.ID), frame.Payload
		}
		if v := h.view(&m, maxShown); v.contains(text) {
			rows = append(rows, x.Row)
		}
		return true
	})
	n := 0
	for _, row := range rows {
		if err != nil {
			break
		}
		switch err = change(row); {
		case err == nil:
			n++
		case errors.Is(err, runner.ErrFormat) || errors.Is(err, runner.ErrNotFound):
			err = nil // it cannot be replayed, or it is gone; the others still can
		}
	}
	return done(n, err)
}

// number returns the number of an existing queue.
func (h *Handler) number(queue string) (uint64, error) {
	for _, in := range h.r.Stats().Inboxes {
		if in.Name != "" && in.Name == queue {
			return in.Worker, nil
		}
	}
	if n, err := strconv.ParseUint(queue, 10, 63); err == nil {
		return n, nil
	}
	return 0, fmt.Errorf("queue %q: %w", queue, runner.ErrNotFound)
}
