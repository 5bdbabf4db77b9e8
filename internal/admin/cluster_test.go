package admin

import (
	"strings"
	"testing"
	"time"
)

// TestClusterText: 'wamble status --cluster' has a line for each machine, and shows its
// faults.
func TestClusterText(t *testing.T) {
	lost := time.Date(2026, 11, 19, 8, 30, 0, 0, time.UTC)
	c := &Cluster{Nodes: []NodeStatus{
		{Name: "a", Self: true, Ready: true, Address: "10.0.0.1:8886", Version: "1.2", Parts: []int{2, 0}, Players: 7, Moves: 900, Lag: 1.5, Dead: 1},
		{Name: "b", Error: "the node cannot be reached", Parts: []int{3}},
		{Name: "c"},
		{Name: "d", Address: "10.0.0.4:8886", Lost: &lost},
	}, Free: []int{1}}
	var out strings.Builder
	if err := printStatus(&out, c); err != nil {
		t.Fatal(err)
	}
	const want = `MACHINE       STATE                                       ADDRESS        PARTS  PLAYERS  MOVES  LAG   DEAD LETTERS  VERSION
a (this one)  serves                                      10.0.0.1:8886  0 2    7        900    1.5s  1             1.2
b             does not answer: the node cannot be reached  -              3      0        0      0s    0             -
c             does not serve players                      -              -      0        0      0s    0             -
d             lost since 2026-11-19T08:30:00Z              10.0.0.4:8886  -      0        0      0s    0             -
On no machine: parts 1. Their players wait; if that lasts, look at the logs.
`
	squeeze := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
	}
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
