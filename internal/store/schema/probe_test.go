package schema

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

func TestProbe(t *testing.T) {
	const all = 8
	away := fmt.Errorf("lost: %w", store.ErrTransient)
	foreign := errors.New("no such session")
	violation := intent.Check(&intent.RemoveReservation{At: time.Unix(1e9, 0)})
	for _, c := range []struct {
		name    string
		intents int
		wrong   func(i int) error
		want    []int
		err     error
		tries   int // -1: never mind
	}{
		{"nothing to try", 0, func(int) error { return foreign }, nil, nil, 0},
		{"none wrong", all, func(int) error { return nil }, nil, nil, 1},
		{"the first", all, only(0, foreign), []int{0}, nil, 7},
		{"the last", all, only(7, foreign), []int{7}, nil, 7},
		{"one of an odd number", 7, only(3, foreign), []int{3}, nil, -1},
		{"alone", 1, only(0, foreign), []int{0}, nil, 1},
		{"all wrong", all, func(int) error { return foreign }, []int{0, 1, 2, 3, 4, 5, 6, 7}, nil, 15},
		{"one that no store would take", all, only(2, violation), []int{2}, nil, -1},
		{"the database goes away in the middle", all, func(i int) error {
			return map[int]error{1: foreign, 5: away}[i]
		}, nil, away, -1},
	} {
		db := book{wrong: c.wrong}
		intents := make([]intent.Intent, c.intents)
		for i := range intents {
			in := &intent.RemoveReservation{Board: wamble.BoardID(i + 1), At: time.Unix(1e9, 0)}
			if c.wrong(i) == violation {
				in.Board = 0
			}
			intents[i] = in
		}
		rejected, err := Probe(intents, db.try)
		var got []int
		for _, r := range rejected {
			got = append(got, r.Index)
			if got, want := r.Err.Error(), c.wrong(r.Index).Error(); got != want {
				t.Errorf("%s: intent %d is refused with %q, want %q", c.name, r.Index, got, want)
			}
		}
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v and %v, want %v and %v", c.name, got, err, c.want, c.err)
		}
		if c.tries >= 0 && db.tries != c.tries {
			t.Errorf("%s: got %d tries, want %d", c.name, db.tries, c.tries)
		}
		if err == nil && len(db.written)+len(got) != c.intents {
			t.Errorf("%s: %d stay written beside %d refused, want %d in all", c.name, len(db.written), len(got),
				c.intents)
		}
		if !slices.IsSorted(db.written) {
			t.Errorf("%s: written in the order %v", c.name, db.written)
		}
	}
}

func only(wrong int, err error) func(int) error {
	return func(i int) error {
		if i == wrong {
			return err
		}
		return nil
	}
}

// book is a database that keeps a run only if nothing in it is wrong.
type book struct {
	wrong   func(i int) error
	written []wamble.BoardID
	tries   int
}

func (b *book) try(run []intent.Intent) error {
	b.tries++
	var boards []wamble.BoardID
	for _, in := range run {
		board := in.(*intent.RemoveReservation).Board
		if err := b.wrong(int(board) - 1); err != nil {
			return err
		}
		boards = append(boards, board)
	}
	b.written = append(b.written, boards...)
	return nil
}
