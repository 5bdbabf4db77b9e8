package schema

import (
	"iter"
	"slices"

	"wamble"
)

// PageSize is how many boards, with their moves, a store holds in memory while
// it yields them.
const PageSize = 64

// ListedSize is PageSize for a start, which wants all boards soon: half of the time
// of a small page is the question.
const ListedSize = 1024

// Pages yields the boards of page after page, each read by next from the last
// board of the one before (nil at first), until a page is not full. No
// transaction stays open while the caller works.
func Pages(next func(last *wamble.Board) ([]wamble.Board, error)) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		var last *wamble.Board
		for {
			page, err := next(last)
			if !yieldAll(page, err, yield) || len(page) < PageSize {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// Listed yields boards of which only the numbers are held in memory, read page
// by page.
func Listed(list func() ([]int64, error), read func(ids []int64) ([]wamble.Board, error)) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		ids, err := list()
		if err != nil {
			yield(wamble.Board{}, err)
			return
		}
		for part := range slices.Chunk(ids, ListedSize) {
			page, err := read(part)
			if !yieldAll(page, err, yield) {
				return
			}
		}
	}
}

func yieldAll(page []wamble.Board, err error, yield func(wamble.Board, error) bool) bool {
	if err != nil {
		yield(wamble.Board{}, err)
		return false
	}
	for _, b := range page {
		if !yield(b, nil) {
			return false
		}
	}
	return true
}
