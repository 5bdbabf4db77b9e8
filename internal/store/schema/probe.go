package schema

import (
	"errors"

	"wamble/internal/intent"
	"wamble/internal/store"
)

// Probe finds the intents that cannot be written, by bisection, since most batches have none or
// one. try writes intents that have passed intent.Check, and undoes all of them if one fails;
// what it has written stays, so that later intents find it. An error of try that is
// store.ErrTransient ends Probe with it.
func Probe(intents []intent.Intent, try func([]intent.Intent) error) ([]store.Rejection, error) {
	p := probe{intents: intents, try: try}
	if err := p.bisect(0, len(intents)); err != nil {
		return nil, err
	}
	return p.rejected, nil
}

type probe struct {
	intents  []intent.Intent
	try      func([]intent.Intent) error
	rejected []store.Rejection
}

// bisect tries the intents in [from, to).
func (p *probe) bisect(from, to int) error {
	if from == to {
		return nil
	}
	err := p.write(p.intents[from:to])
	switch {
	case err == nil || errors.Is(err, store.ErrTransient):
		return err
	case to-from == 1:
		p.rejected = append(p.rejected, store.Rejection{Index: from, Err: err})
		return nil
	}
	half := from + (to-from)/2
	if err := p.bisect(from, half); err != nil {
		return err
	}
	return p.bisect(half, to)
}

// write checks the intents of a run before it tries to write them.
func (p *probe) write(run []intent.Intent) error {
	for _, in := range run {
		if err := intent.Check(in); err != nil {
			return err
		}
	}
	return p.try(run)
}
