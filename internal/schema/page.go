package schema

import (
	"iter"

	"wamble"
)

// PageSize is how many boards, with their moves, a store holds in memory while
// it yields them.
const PageSize = 64

// Pages yields the boards of page after page, each read by next from the last
// board of the one before (nil at first), until a page is not full. No
// transaction stays open while the caller works.
func Pages(next func(last *wamble.Board) ([]wamble.Board, error)) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		var last *wamble.Board
		for {
			page, err := next(last)
			if err != nil {
				yield(wamble.Board{}, err)
				return
			}
			for _, b := range page {
				if !yield(b, nil) {
					return
				}
			}
			if len(page) < PageSize {
				return
			}
			last = &page[len(page)-1]
		}
	}
}
