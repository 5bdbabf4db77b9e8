package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// observer reads the events of a server and reconnects as a browser does: with the id of the
// last one.
type observer struct {
	t    *testing.T
	stop context.CancelFunc
	done chan struct{}

	mu     sync.Mutex
	sorted bool                        // the moves of a board come in order
	plies  map[uint64]int              // the last one of each board
	told   map[uint64]map[int]struct{} // the plies of each board
	moves  int
	resets int
	visits int
	placed bool // its position in the feed is known
}

// observeAll observes all boards. Moves of one board on two machines need not come in order.
func observeAll(t *testing.T, sorted bool, url func() string) *observer {
	ctx, stop := context.WithCancel(t.Context())
	o := &observer{t: t, stop: stop, done: make(chan struct{}), sorted: sorted, plies: map[uint64]int{},
		told: map[uint64]map[int]struct{}{}}
	go func() {
		defer close(o.done)
		last := ""
		for ctx.Err() == nil {
			last = o.visit(ctx, url(), last)
		}
	}()
	t.Cleanup(o.end)
	return o
}

// visit reads until the stream ends, and returns the id of the last event.
func (o *observer) visit(ctx context.Context, url, last string) string {
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		sleep(ctx, 20*time.Millisecond) // it restarts
		return last
	}
	defer resp.Body.Close()
	o.mu.Lock()
	o.visits++
	o.mu.Unlock()
	kind, id := "", last
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "": // the event is whole
			last = id
		case key == "id":
			id = value
			o.mu.Lock()
			o.placed = true
			o.mu.Unlock()
		case key == "event":
			kind = value
		case key == "data":
			o.take(kind, value)
		}
	}
	return last
}

func (o *observer) take(kind, data string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch kind {
	case "reset":
		o.resets++
	case "move":
		var m struct {
			Board uint64 `json:"board"`
			Ply   int    `json:"ply"`
			FEN   string `json:"fen"`
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil || m.FEN == "" {
			o.t.Errorf("%s: %v", data, err)
		}
		if at, known := o.plies[m.Board]; o.sorted && known && m.Ply != at+1 {
			o.t.Errorf("board %d: move %d follows %d", m.Board, m.Ply, at)
		}
		if _, again := o.told[m.Board][m.Ply]; again {
			o.t.Errorf("board %d: move %d was told twice", m.Board, m.Ply)
		}
		if o.told[m.Board] == nil {
			o.told[m.Board] = map[int]struct{}{}
		}
		o.told[m.Board][m.Ply] = struct{}{}
		o.plies[m.Board] = m.Ply
		o.moves++
	}
}

// here waits until the observer has a position, from which on it misses nothing.
func (o *observer) here() {
	o.t.Helper()
	until(o.t, "the observer is there", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.placed
	})
}

func (o *observer) seen() (moves, visits int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.moves, o.visits
}

// end ends the observer, which must have received everything.
func (o *observer) end() {
	o.stop()
	<-o.done
	if o.resets > 0 {
		o.t.Errorf("the observer was told %d times that it has missed something", o.resets)
	}
}
