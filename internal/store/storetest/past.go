package storetest

import (
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// past asks for the boards at a time. Board n is made in second n and over in second
// n+5, the last ten are not over.
func past(w *world) {
	const n = 60
	if _, err := w.Began(w.Context(), Profile); !errors.Is(err, store.ErrNotFound) {
		w.Errorf("an empty world began: %v", err)
	}
	if got, err := w.Past(w.Context(), wamble.PastQuery{Profile: Profile, From: at(0), Until: at(9), Limit: 9}); err != nil || len(got.Boards) > 0 || got.Next > 0 {
		w.Errorf("an empty world has %v, %v", got, err)
	}
	all := []intent.Intent{newSession(1)}
	for i := wamble.BoardID(1); i <= n; i++ {
		all = append(all, &intent.CreateBoard{Board: 7 * i, FEN: startFEN, Status: wamble.Active, Variant: -1, At: at(int(i))})
	}
	w.apply(all...)
	all = nil
	for i := wamble.BoardID(1); i <= n-10; i++ {
		all = append(all, &intent.UpdateBoard{Board: 7 * i, FEN: startFEN, Status: wamble.Archived, Version: 1, At: at(int(i) + 5)},
			&intent.RecordGameResult{Board: 7 * i, Result: wamble.Draw, At: at(int(i) + 5)})
	}
	w.apply(append(all, move(7*20, 1, 1, true), move(7*20, 1, 2, false))...)
	beta := *w
	beta.profile, beta.cursor = "beta", 0
	beta.apply(newBoard(7*20 + 1))

	began, err := w.Began(w.Context(), Profile)
	w.must(err)
	w.equal("began", began, at(1))
	for _, tc := range []struct {
		from, until int
		want        []wamble.BoardID // divided by 7
	}{
		{-5, 0, nil},
		{0, 1, []wamble.BoardID{1}},
		{0, 3, []wamble.BoardID{3, 2, 1}},
		{20, 20, []wamble.BoardID{20, 19, 18, 17, 16}},
		{20, 22, []wamble.BoardID{22, 21, 20, 19, 18, 17, 16}},
		{500, 560, []wamble.BoardID{60, 59, 58, 57, 56, 55, 54, 53, 52, 51}},
	} {
		q := wamble.PastQuery{Profile: Profile, From: at(tc.from), Until: at(tc.until), Limit: 3}
		var got []wamble.BoardID
		for {
			page, err := w.Past(w.Context(), q)
			w.must(err)
			for _, b := range page.Boards {
				got = append(got, b.ID/7)
				if b.ID == 7*20 {
					w.equal("its moves", b.Moves, w.board(7*20).Moves)
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
