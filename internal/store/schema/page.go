package schema

import (
	"iter"
	"sync"

	"wamble"
	"wamble/internal/guard"
)

// pageSize is how many boards with their moves a store holds in memory while it yields them.
const pageSize = 64

// listedSize is pageSize for the start of a server: with small pages half of the time would be
// the round trips.
const listedSize = 1024

// pages yields the boards of successive pages, each read by next from the last board of the
// previous page (at first nil), until a page is not full. No transaction stays open while the
// caller works.
func pages(next func(last *wamble.Board) ([]wamble.Board, error)) iter.Seq2[wamble.Board, error] {
	return func(yield func(wamble.Board, error) bool) {
		var last *wamble.Board
		for {
			page, err := next(last)
			if !yieldAll(page, err, yield) || len(page) < pageSize {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// pagesAhead is how many pages listed reads at once: with three, a million boards of SQLite are
// read in 5.8 s on two cores, with one in 7.3 s.
const pagesAhead = 3

// listed yields boards in the order of a list of their numbers. It reads several pages at once
// while the caller works.
func listed(list func() ([]int64, error), read func(ids []int64) ([]wamble.Board, error)) iter.Seq2[wamble.Board,
	error] {
	return func(yield func(wamble.Board, error) bool) {
		ids, err := list()
		if err != nil {
			yield(wamble.Board{}, err)
			return
		}
		var readers sync.WaitGroup
		defer readers.Wait()
		var ahead []<-chan page
		for len(ids) > 0 || len(ahead) > 0 {
			for len(ids) > 0 && len(ahead) < pagesAhead {
				n := min(len(ids), listedSize)
				part, c := ids[:n], make(chan page, 1)
				readers.Go(func() {
					var p page
					p.err = guard.Call("a reader of boards", func() (err error) {
						p.boards, err = read(part)
						return err
					})
					c <- p
				})
				ids, ahead = ids[n:], append(ahead, c)
			}
			p := <-ahead[0]
			ahead = ahead[1:]
			if !yieldAll(p.boards, p.err, yield) {
				return
			}
		}
	}
}

type page struct {
	boards []wamble.Board
	err    error
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
