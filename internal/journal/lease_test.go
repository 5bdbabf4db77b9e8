package journal

import (
	"slices"
	"testing"

	"wamble"
)

func TestLeases(t *testing.T) {
	l := NewLeases(10)
	if _, ok := l.Next(wamble.BoardIDs); ok {
		t.Fatal("an empty supply has no number")
	}
	if got := l.Want(wamble.BoardIDs); got != 10 {
		t.Fatalf("got %d wanted, want 10", got)
	}
	if got := l.Want(wamble.BoardIDs); got != 0 {
		t.Fatalf("while a lease is under way: got %d wanted, want 0", got)
	}
	l.Add(wamble.BoardIDs, nil)
	if got := l.Want(wamble.BoardIDs); got != 10 {
		t.Fatalf("after a failed lease: got %d wanted, want 10", got)
	}
	l.Add(wamble.BoardIDs, []wamble.Block{{First: 5, Count: 3}, {First: 100, Count: 0}, {First: 20, Count: 7}})
	if got := l.Left(wamble.BoardIDs); got != 10 {
		t.Fatalf("got %d left, want 10", got)
	}
	var got []int64
	for range 4 {
		id, _ := l.Next(wamble.BoardIDs)
		got = append(got, id)
	}
	if want := []int64{5, 6, 7, 20}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := l.Want(wamble.BoardIDs); n != 0 {
		t.Errorf("6 of 10 left: got %d wanted, want 0", n)
	}
	l.Next(wamble.BoardIDs)
	if n := l.Want(wamble.BoardIDs); n != 10 {
		t.Errorf("half used: got %d wanted, want 10", n)
	}
	if _, ok := l.Next(wamble.SessionIDs); ok {
		t.Error("sequences have supplies of their own")
	}
}
