package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/transport"
	"wamble/wire"
)

// TestEveryRequestHasItsMethod: the client sends every control code that
// clients send.
func TestEveryRequestHasItsMethod(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source = append(source, text...)
		}
	}
	for _, c := range wire.Controls() {
		info, _ := c.Info()
		payload := reflect.TypeOf(info.New()).Elem()
		if c.Request() && !bytes.Contains(source, []byte(payload.String()+"{")) {
			t.Errorf("no method sends %v", c)
		}
	}
}

func TestJitter(t *testing.T) {
	const d = 100 * time.Millisecond
	seen := map[time.Duration]bool{}
	for range 1000 {
		s := jitter(d)
		if s < d/2 || s >= d*3/2 {
			t.Fatalf("%v of %v", s, d)
		}
		seen[s] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different pauses", len(seen))
	}
	if jitter(0) != 0 {
		t.Error("no pause is none")
	}
}

func TestRestarting(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&transport.CloseError{Code: 1001, Remote: true}, true},
		{&transport.CloseError{Code: 1001}, false},
		{&transport.CloseError{Code: 1011, Remote: true}, false},
		{io.EOF, false},
		{nil, false},
	} {
		if got := restarting(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestQueueDropsTheOldest(t *testing.T) {
	q := newQueue[int](3)
	for i := range 5 {
		q.put(i)
	}
	reason := errors.New("over")
	q.end(reason)
	q.end(io.EOF) // the first reason counts
	q.put(9)
	for _, want := range []int{2, 3, 4} {
		if got, err := q.next(t.Context()); err != nil || got != want {
			t.Errorf("%d, %v; want %d", got, err, want)
		}
	}
	if _, err := q.next(t.Context()); err != reason {
		t.Errorf("at the end: %v", err)
	}
	if q.lost() != 2 {
		t.Errorf("%d dropped, want 2", q.lost())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newQueue[int](1).next(ctx); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOrder: updates that come late are dropped.
func TestOrder(t *testing.T) {
	var o order
	board := func(id wamble.BoardID, version, generation int64) *Update {
		return &Update{Board: Board{ID: id, Version: version}, Generation: generation}
	}
	for i, tc := range []struct {
		s    *Update
		late bool
	}{
		{&Update{Reset: true, Generation: 7, State: "summary"}, false},
		{board(1, 5, 7), false},
		{board(1, 4, 7), true},
		{board(1, 5, 7), false}, // again
		{board(2, 1, 7), false}, // another board
		{board(1, 0, 7), false}, // a server that sends no versions
		{board(1, 9, 6), true},  // of the summary before
		{board(1, 3, 8), false}, // of the next one, whose beginning was lost
		{board(2, 1, 7), true},  // late
		{&Update{Reset: true, Generation: 7}, true},
		{&Update{Reset: true, Generation: 2, State: "summary"}, false}, // asked for: the server counts anew
		{board(1, 1, 2), false},
		{&Update{Board: Board{ID: 1, Version: 6}, State: "focus"}, false},
		{board(1, 5, 0), true},
		{board(1, 7, 0), false},
	} {
		if got := o.late(tc.s); got != tc.late {
			t.Errorf("%d: %+v: got late %v", i, tc.s, got)
		}
	}
}
