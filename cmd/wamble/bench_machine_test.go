package main

import "testing"

func TestStolen(t *testing.T) {
	before := processorsOf([]byte("cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1 2 3 4 5 6 7 8\n"))
	if before != (processors{all: 1000, stolen: 35}) {
		t.Fatalf("got %+v", before)
	}
	after := processorsOf([]byte("cpu  120 0 60 840 10 0 5 65 9 0\n"))
	if got := after.stolenSince(before); got != 0.3 {
		t.Errorf("got %v, want 0.3: 30 of 100 ticks", got)
	}
	for _, other := range []string{"", "cpu 1 2 3\n", "cpu a b c d e f g h\n", "intr 1 2 3 4 5 6 7 8 9\n"} {
		if got := processorsOf([]byte(other)).stolenSince(processors{}); got != -1 {
			t.Errorf("%q: got %v, want -1", other, got)
		}
	}
	if got := before.stolenSince(before); got != -1 {
		t.Errorf("without time: got %v, want -1", got)
	}
}
