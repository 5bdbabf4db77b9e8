package main

import (
	"strings"
	"testing"
	"time"

	"wamble/internal/loader"
)

func TestCPUOf(t *testing.T) {
	const rest = "S 1 2 3 0 -1 4194560 100 0 0 0 150 25 0 0 20 0 9 0 1000 0 0"
	for _, tc := range []struct {
		name, stat string
		want       time.Duration
	}{
		{"plain", "42 (wamble) " + rest, 1750 * time.Millisecond},
		{"a name with blanks and brackets", "42 (a) b (c) " + rest, 1750 * time.Millisecond},
		{"cut", "42 (wamble) S 1 2", 0},
		{"no numbers", "42 (wamble) " + strings.Replace(rest, "150", "x", 1), 0},
		{"empty", "", 0},
	} {
		if got := cpuOf([]byte(tc.stat)); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// The address may come in pieces, and counts when its line is whole.
func TestAddressFinder(t *testing.T) {
	found := make(chan string, 1)
	f := &addressFinder{found: found}
	for _, piece := range []string{"Wamble serves\n  cli", "ent   udp://localhost:88", "88"} {
		f.Write([]byte(piece))
		if len(found) > 0 {
			t.Fatalf("found %q before the line was whole", <-found)
		}
	}
	f.Write([]byte("\nudp://other:1\n"))
	f.Write([]byte("udp://third:1\n"))
	if got, want := <-found, "localhost:8888"; got != want || len(found) > 0 {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTail(t *testing.T) {
	var l tail
	for range 3 {
		l.Write([]byte(strings.Repeat("x", tailSize-1) + "\n"))
	}
	l.Write([]byte("end"))
	if got := l.String(); len(got) != tailSize || !strings.HasSuffix(got, "x\nend") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-8:])
	}
}

func TestMedian(t *testing.T) {
	round := func(rate, echo uint64) benchRound {
		r := benchRound{Report: loader.Report{Answered: rate, Elapsed: time.Second}}
		if echo > 0 {
			r.Echo = &loader.Report{Answered: echo, Elapsed: time.Second}
		}
		return r
	}
	for _, tc := range []struct {
		name   string
		rounds []benchRound
		rate   float64
		ratio  float64
	}{
		{"one", []benchRound{round(10, 20)}, 10, 0.5},
		{"three, the ratio by itself", []benchRound{round(30, 40), round(10, 100), round(20, 100)}, 20, 0.2},
		{"two: the lower", []benchRound{round(30, 0), round(10, 0)}, 10, 0},
	} {
		middle, ratio := median(tc.rounds)
		if middle.Report.PerSecond() != tc.rate || ratio != tc.ratio {
			t.Errorf("%s: got %v and %v, want %v and %v", tc.name, middle.Report.PerSecond(), ratio, tc.rate, tc.ratio)
		}
	}
}

func TestJudge(t *testing.T) {
	good, bad := &loader.Verdict{Accepted: 2, Kept: 2},
		&loader.Verdict{Accepted: 2, Kept: 1, Missing: 1, Example: "board 3 ply 2"}
	for _, tc := range []struct {
		name   string
		rounds []benchRound
		code   error
		said   string
	}{
		{"not verified", []benchRound{{}}, nil, ""},
		{"all there", []benchRound{{Kept: good}, {Kept: good}}, nil, ""},
		{"one round is wrong", []benchRound{{Kept: good}, {Kept: bad}}, exitError(1), "wamble: the database does not have what was accepted: board 3 ply 2\n"},
	} {
		var said strings.Builder
		if got := judge(&said, tc.rounds); got != tc.code || said.String() != tc.said {
			t.Errorf("%s: got %v, %q, want %v, %q", tc.name, got, said.String(), tc.code, tc.said)
		}
	}
}

func TestShortly(t *testing.T) {
	costs := func(server, load time.Duration, answered uint64) loader.Report {
		return loader.Report{Server: server, Loader: load, Answered: answered}
	}
	for _, tc := range []struct {
		report, echo loader.Report
		want         float64
	}{
		{costs(30, 10, 10), costs(10, 10, 10), 0.5},
		{costs(30, 10, 20), costs(10, 10, 10), 1},
		{costs(0, 10, 10), costs(10, 10, 10), 0},
	} {
		if got := (&benchRound{Report: tc.report, Echo: &tc.echo}).cpuRatio(); got != tc.want {
			t.Errorf("%+v: got %v, want %v", tc, got, tc.want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 µs", 999 * time.Microsecond: "999 µs",
		time.Millisecond: "1.0 ms", 1234 * time.Millisecond: "1234.0 ms"} {
		if got := shortly(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
