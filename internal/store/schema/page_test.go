package schema

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"wamble"
	"wamble/internal/guard"
)

// TestListed: boards come in the order of their numbers, however long each page takes to
// read; the error of a page is returned after the boards before it; and when the caller has
// enough, or the list ends, no page is read any more.
func TestListed(t *testing.T) {
	const n = 5*listedSize + 7
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = int64(i + 1)
	}
	damaged := errors.New("damaged")
	for _, tc := range []struct {
		name string
		bad  func() error // of the fourth page
		stop int          // after so many boards
		want int
		err  func(error) bool
	}{
		{name: "all", want: n, err: func(err error) bool { return err == nil }},
		{name: "enough", stop: listedSize + 1, want: listedSize + 1, err: func(err error) bool { return err == nil }},
		{name: "a page that cannot be read", bad: func() error { return damaged }, want: 3 * listedSize, err: func(err error) bool { return errors.Is(err, damaged) }},
		{name: "a panic", bad: func() error { panic("in a page") }, want: 3 * listedSize, err: func(err error) bool {
			var p *guard.Panic
			return errors.As(err, &p)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, reading := make(chan struct{}), atomic.Int32{}
			read := func(ids []int64) ([]wamble.Board, error) {
				reading.Add(1)
				defer reading.Add(-1)
				switch ids[0] {
				case 1:
					<-first // the next is read meanwhile
				case listedSize + 1:
					close(first)
				case 3*listedSize + 1:
					if tc.bad != nil {
						if err := tc.bad(); err != nil {
							return nil, err
						}
					}
				}
				boards := make([]wamble.Board, len(ids))
				for i, id := range ids {
					boards[i].ID = wamble.BoardID(id)
				}
				return boards, nil
			}
			var got []int64
			var err error
			for b, e := range listed(func() ([]int64, error) { return numbers, nil }, read) {
				if err = e; err != nil {
					break
				}
				if got = append(got, int64(b.ID)); len(got) == tc.stop {
					break
				}
			}
			if !slices.Equal(got, numbers[:tc.want]) || !tc.err(err) {
				t.Errorf("got %d boards and %v, want the first %d", len(got), err, tc.want)
			}
			if left := reading.Load(); left != 0 {
				t.Errorf("%d pages are still being read", left)
			}
		})
	}
	none := errors.New("no list")
	for _, err := range listed(func() ([]int64, error) { return nil, none }, nil) {
		if !errors.Is(err, none) {
			t.Errorf("got %v, want %v", err, none)
		}
	}
}
