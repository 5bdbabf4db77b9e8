package storetest

import (
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// past queries the boards at a time. The nth board is made in second n and finished in second
// n+5; the last ten are not finished. Two shards number them from different ranges, so that the
// numbers are not in the order of time.
func past(w *world) {
	const n = 60
	number := func(i int) wamble.BoardID { return wamble.BoardID(7 * (i + i%2*1000)) }
	nth := func(id wamble.BoardID) int { return int(id / 7 % 1000) }
	if _, err := w.Began(w.Context(), Profile); !errors.Is(err, store.ErrNotFound) {
		w.Errorf("an empty world began: %v", err)
	}
	if got, err := w.Past(w.Context(), wamble.PastQuery{Profile: Profile, From: at(0), Until: at(9),
		Limit: 9}); err != nil || len(got.Boards) > 0 || got.Next > 0 {
		w.Errorf("an empty world has %v, %v", got, err)
	}
	all := []intent.Intent{newSession(1)}
	for i := 1; i <= n; i++ {
		all = append(all, &intent.CreateBoard{Board: number(i), FEN: startFEN, Status: wamble.Active, Variant: -1,
			At: at(i)})
	}
	w.apply(all...)
	all = nil
	for i := 1; i <= n-10; i++ {
		all = append(all, &intent.UpdateBoard{Board: number(i), FEN: startFEN, Status: wamble.Archived, Version: 1,
			At: at(i + 5)},
			&intent.RecordGameResult{Board: number(i), Result: wamble.Draw, At: at(i + 5)})
	}
	w.apply(append(all, move(number(20), 1, 1, true), move(number(20), 1, 2, false))...)
	beta := *w
	beta.profile, beta.cursor = "beta", 0
	beta.apply(newBoard(number(20) + 1))

	began, err := w.Began(w.Context(), Profile)
	w.must(err)
	w.equal("began", began, at(1))
	for _, tc := range []struct {
		from, until int
		want        []int
	}{
		{-5, 0, nil},
		{0, 1, []int{1}},
		{0, 3, []int{3, 2, 1}},
		{20, 20, []int{20, 19, 18, 17, 16}},
		{20, 22, []int{22, 21, 20, 19, 18, 17, 16}},
		{500, 560, []int{60, 59, 58, 57, 56, 55, 54, 53, 52, 51}},
	} {
		q := wamble.PastQuery{Profile: Profile, From: at(tc.from), Until: at(tc.until), Limit: 3}
		var got []int
		for {
			page, err := w.Past(w.Context(), q)
			w.must(err)
			for _, b := range page.Boards {
				got = append(got, nth(b.ID))
				if b.ID == number(20) {
					w.equal("its moves", b.Moves, w.board(number(20)).Moves)
				}
			}
			if q.Board = page.Next; q.Board == 0 {
				break
			}
		}
		w.equal(fmt.Sprintf("boards from %d to %d", tc.from, tc.until), got, tc.want)
	}
	for _, limit := range []int{0, 257} {
		if _, err := w.Past(w.Context(), wamble.PastQuery{Profile: Profile, Limit: limit}); err == nil {
			w.Errorf("%d boards: got no error", limit)
		}
	}
}
