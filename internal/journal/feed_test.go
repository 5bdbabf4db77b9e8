package journal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/runner"
)

func ended(board wamble.BoardID) intent.Intent {
	return &intent.RecordGameResult{Board: board, Result: wamble.BlackWins, Plies: 4, Duration: 1500 * time.Millisecond,
		Reason: "checkmate", At: time.Unix(1_800_000_000, 0)}
}

// boards lists the games of the feed of profile blue.
func boards(t *testing.T, r *runner.Runner) (got []wamble.BoardID) {
	t.Helper()
	rows, _, _, err := ReadFeed(r, "blue", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		got = append(got, row.Board)
	}
	return got
}

// TestFeedHasEachGameOnce, whatever happens to the batch that ends it.
func TestFeedHasEachGameOnce(t *testing.T) {
	away := fmt.Errorf("connection refused: %w", store.ErrTransient)
	for _, tc := range []struct {
		name  string
		store fakeStore
		want  []wamble.BoardID
	}{
		{"all is well", fakeStore{}, []wamble.BoardID{1, 2, 3}},
		{"the store is away", fakeStore{fail: []error{away, nil, away}}, []wamble.BoardID{1, 2, 3}},
		{"an answer is lost", fakeStore{lost: true}, []wamble.BoardID{1, 2, 3}},
		{"a crash before the acknowledgement", fakeStore{cursor: 2}, []wamble.BoardID{1, 2, 3}},
		{"a result is refused", fakeStore{refuse: map[string]bool{name(ended(2)): true}}, []wamble.BoardID{1, 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, d := openDrain(t, &tc.store)
			for b := range wamble.BoardID(3) {
				post(t, r, d, move(b+1, 1), move(b+1, 2), ended(b+1))
			}
			empty(t, d)
			if got := boards(t, r); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReadFeed(t *testing.T) {
	r, d := openDrain(t, &fakeStore{})
	green, err := NewDrain(t.Context(), r, &fakeStore{},
		DrainOptions{Profile: "green", Limits: Limits{Intents: 512, Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if got := FeedEnd(r); got != 0 {
		t.Errorf("an empty feed ends at %d, want 0", got)
	}
	for b := range wamble.BoardID(5) { // 1 3 5 7 9 are blue, 2 4 6 8 10 green
		post(t, r, d, ended(b+1))
		empty(t, d)
		post(t, r, green, ended(b+100))
		empty(t, green)
	}
	rows, upTo, gone, err := ReadFeed(r, "blue", 0, 2)
	if err != nil || gone || upTo != 3 || len(rows) != 2 {
		t.Fatalf("got %v up to %d, gone %v, %v; want two up to 3", rows, upTo, gone, err)
	}
	want := Ended{"blue", 1, "black", "checkmate", 4, 1.5, time.Unix(1_800_000_000, 0).UTC()}
	if rows[0].Seq != 1 || rows[0].Ended != want {
		t.Errorf("got %+v, want %+v", rows[0], want)
	}
	if rows, upTo, _, _ = ReadFeed(r, "blue", upTo, 100); len(rows) != 3 || rows[2].Board != 5 || upTo != 10 {
		t.Errorf("then: got %v up to %d, want three up to 10", rows, upTo)
	}
	if rows, upTo, gone, _ = ReadFeed(r, "blue", upTo, 100); len(rows) != 0 || upTo != 10 || gone || FeedEnd(r) != 10 {
		t.Errorf("at the end: got %v up to %d, gone %v", rows, upTo, gone)
	}

	// The oldest go when there are too many.
	if err := TrimFeed(t.Context(), r, 4, 6); err != nil || len(boards(t, r)) != 5 {
		t.Errorf("10 are not more than 4 and 6: %v", err)
	}
	if err := TrimFeed(t.Context(), r, 4, 5); err != nil {
		t.Fatal(err)
	}
	if got := boards(t, r); !slices.Equal(got, []wamble.BoardID{4, 5}) {
		t.Errorf("after trimming: got %v, want 4 and 5", got)
	}
	if _, _, gone, _ = ReadFeed(r, "blue", 5, 9); !gone {
		t.Error("6 was dropped, and nobody says so")
	}
	if _, _, gone, _ = ReadFeed(r, "blue", 6, 9); gone {
		t.Error("7 is still there")
	}
}

// TestFeedTells: readers that wait for games are woken when games end.
func TestFeedTells(t *testing.T) {
	r, d := openDrain(t, &fakeStore{})
	told := make(chan []wamble.BoardID, 1)
	d.o.Observer = observer{feedGrown: func() { told <- boards(t, r) }}
	post(t, r, d, ended(7))
	done := make(chan error, 1)
	go func() { done <- d.Run(t.Context()) }()
	select {
	case got := <-told:
		if !slices.Equal(got, []wamble.BoardID{7}) {
			t.Errorf("told with %v in the feed, want 7", got)
		}
	case err := <-done:
		t.Fatalf("the drain ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
}
