package lru

import (
	"slices"
	"testing"
)

func TestLRU(t *testing.T) {
	l := New[string, int](3)
	for i, k := range []string{"a", "b", "c", "a", "d", "a", "c"} {
		if v := l.Use(k); *v == 0 {
			*v = i + 1
		}
	}
	var got []string
	l.FromOldest(func(k string, v *int) { got = append(got, k) })
	if want := []string{"d", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("from the oldest: got %v, want %v", got, want)
	}
	if l.Find("b") != nil {
		t.Errorf("b was used least recently, and should have made room")
	}
	if v := l.Find("a"); v == nil || *v != 1 {
		t.Errorf("a lost its value: %v", v)
	}
	if v := l.Use("b"); *v != 0 {
		t.Errorf("b comes back with the value %d of another", *v)
	}
}
