package wamble_test

import (
	"testing"

	"wamble"
)

func TestStatusNames(t *testing.T) {
	for s := wamble.Active; s <= wamble.Archived; s++ {
		if got, err := wamble.ParseBoardStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	for r := wamble.WhiteWins; r <= wamble.Draw; r++ {
		if got, err := wamble.ParseResult(r.String()); err != nil || got != r {
			t.Errorf("%v: got %v, %v", r, got, err)
		}
	}
	for s := wamble.Pending; s <= wamble.Expired; s++ {
		if got, err := wamble.ParsePredictionStatus(s.String()); err != nil || got != s {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	if _, err := wamble.ParseBoardStatus("active"); err == nil {
		t.Error("lower case is no board status")
	}
	for _, s := range wamble.Sequences() {
		if s.String() == "" {
			t.Errorf("sequence %d has no name", s)
		}
	}
}
