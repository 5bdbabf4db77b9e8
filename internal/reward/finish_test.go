package reward

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
)

// written records intents as text.
type written []string

func (w *written) Add(in intent.Intent) {
	switch in := in.(type) {
	case *intent.RecordPayout:
		*w = append(*w, fmt.Sprintf("payout %d: %v", in.Session, in.Points))
	case *intent.RecordRating:
		*w = append(*w, fmt.Sprintf("rating %d %d: %v", in.Session, in.Key[0], in.Delta))
	}
}

func TestFinish(t *testing.T) {
	rated := func(session wamble.SessionID, key byte, white, black int) Player {
		return Player{Session: session, White: white, Black: black, Rating: 1200, Rated: true,
			Key: wamble.PublicKey{key}, Number: uint32(key)}
	}
	for _, tc := range []struct {
		name    string
		players []Player
		want    []string
	}{
		{"one against one", []Player{rated(1, 1, 2, 0), rated(2, 2, 0, 2)}, []string{"payout 1: 10", "rating 1 1: 16", "rating 2 2: -16"}},
		{"nobody has a rating", []Player{{Session: 1, White: 1, Rating: 1200}, {Session: 2, Black: 1, Rating: 1200}}, []string{"payout 1: 10"}},
		{"two sessions of one identity", []Player{rated(1, 1, 1, 0), rated(2, 2, 0, 2), rated(3, 1, 1, 0)},
			[]string{"payout 1: 5", "payout 3: 5", "rating 1 1: 16", "rating 2 2: -16"}},
		{"two whose identities are not known", []Player{rated(1, 0, 1, 0), rated(2, 0, 1, 0), rated(3, 0, 0, 2)},
			[]string{"payout 1: 10", "payout 2: 10", "rating 1 0: 8", "rating 2 0: 8", "rating 3 0: -16"}},
	} {
		var l Ledger
		for range 2 { // its memory is used again
			var got written
			payouts, ratings := l.Finish(Game{Board: 5, Result: wamble.WhiteWins, Pot: 20, K: 32}, tc.players, &got)
			if !slices.Equal(got, tc.want) || payouts+ratings != len(tc.want) {
				t.Errorf("%s: got %d, %d: %q, want %q", tc.name, payouts, ratings, got, tc.want)
			}
		}
	}
}

func TestPrizes(t *testing.T) {
	ps := NewPrizes()
	p := ps.Win(1, 5, 2.5)
	if p == nil || string(p.AppendText(nil)) != "your moves won 2.5 points" {
		t.Fatalf("got %+v, want the first prize at once", p)
	}
	ps.Sent(0, p)
	if ps.Win(1, 6, 1) != nil || ps.Win(1, 7, 0.25) != nil {
		t.Error("the next prizes are told at once")
	}
	if _, due := ps.Due(Every - time.Nanosecond); due {
		t.Error("the next prizes are told too soon")
	}
	if at, ok := ps.Next(); !ok || at != Every {
		t.Errorf("got %v, %v, want %v", at, ok, Every)
	}
	p, due := ps.Due(Every)
	if !due || p.IsEmpty() || p.Board != 7 || string(p.AppendText(nil)) != "your moves won 1.25 points in 2 games" {
		t.Fatalf("got %+v", p)
	}
	ps.Sent(Every, p)
	if p, due = ps.Due(3 * Every); !due || !p.IsEmpty() {
		t.Errorf("got %+v, want nothing more", p)
	}
	ps.Forget(p)
	if _, ok := ps.Next(); ok || ps.Len() != 0 {
		t.Errorf("%d are remembered", ps.Len())
	}
}

func TestPoints(t *testing.T) {
	for points, want := range map[float64]string{10: "10", 6.6666: "6.6666", 0.0001: "0.0001", 2.5: "2.5", 100: "100"} {
		if got := string(appendPoints(nil, points)); got != want {
			t.Errorf("%v: got %s, want %s", points, got, want)
		}
	}
}
