package storetest

import (
	"errors"
	"fmt"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// scores reads the scores of a player with two sessions, who lost a game without a payout;
// games of others are not included.
func scores(w *world) {
	w.apply(newSession(1), newSession(2), newSession(3), link(1, 7, 20), link(2, 7, 20), link(3, 8, 20))
	var all []intent.Intent
	for b := range wamble.BoardID(8) {
		all = append(all, newBoard(b+1))
	}
	w.apply(all...)
	pay := func(b wamble.BoardID, s wamble.SessionID, points float64, sec int) intent.Intent {
		return &intent.RecordPayout{Board: b, Session: s, Points: points, Canonical: points, At: at(sec)}
	}
	rate := func(b wamble.BoardID, s wamble.SessionID, k wamble.PublicKey, delta float64, sec int) intent.Intent {
		return &intent.RecordRating{Board: b, Session: s, Key: k, Delta: delta, At: at(sec)}
	}
	none := wamble.PublicKey{}
	w.apply(pay(1, 1, 2.5, 60), pay(1, 2, 1.25, 60), rate(1, 1, key(7), 4, 60), // in two sessions
		rate(2, 2, none, -6.5, 80),         // lost; found by the session
		pay(3, 1, 5, 70), pay(4, 2, 6, 70), // at the same time
		pay(5, 3, 9, 90), rate(5, 3, key(8), 9, 90), // another player
		rate(6, 2, none, 1, 61), rate(6, 1, key(7), 1, 61), // repeated: only the first counts
		rate(7, 99, none, 5, 95)) // no such session
	me := w.player(key(7))
	w.equal("rating", me.Stats.Rating, 1200+4-6.5+1)
	w.equal("rating of the other", w.player(key(8)).Stats.Rating, 1209.0)
	want := []wamble.Score{
		{Board: 2, Rating: -6.5, At: at(80)}, {Board: 4, Points: 6, At: at(70)}, {Board: 3, Points: 5, At: at(70)},
		{Board: 6, Rating: 1, At: at(61)}, {Board: 1, Points: 3.75, Rating: 4, At: at(60)},
	}
	for _, q := range []struct {
		name   string
		before time.Time
		board  wamble.BoardID
		limit  int
		want   []wamble.Score
	}{
		{"all", time.Time{}, 0, 100, want},
		{"the first two", time.Time{}, 0, 2, want[:2]},
		{"after the first two", at(70), 4, 2, want[2:4]},
		{"after a moment", at(70), 0, 9, want[3:]},
		{"after the last", at(60), 1, 9, nil},
	} {
		got, err := w.Scores(w.Context(),
			wamble.ScoreQuery{Player: me.ID, Before: q.before, Board: q.board, Limit: q.limit})
		w.must(err)
		w.equal(q.name, fmt.Sprint(got), fmt.Sprint(q.want))
	}
	got, err := w.Scores(w.Context(), wamble.ScoreQuery{Player: 12345, Limit: 9})
	w.must(err)
	w.equal("of nobody", len(got), 0)
	for _, limit := range []int{0, 101} {
		if _, err := w.Scores(w.Context(), wamble.ScoreQuery{Player: me.ID, Limit: limit}); err == nil ||
			errors.Is(err, store.ErrTransient) {
			w.Errorf("limit %d: got %v, want a permanent error", limit, err)
		}
	}
}
