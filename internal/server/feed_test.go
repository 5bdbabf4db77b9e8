package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store"
)

// feedReader reads finished games, and continues after its last cursor.
type feedReader struct {
	t      testing.TB
	cursor string
	told   map[wamble.BoardID]int // how often
}

func newFeedReader(t testing.TB) *feedReader {
	return &feedReader{t: t, told: map[wamble.BoardID]int{}}
}

// follow reads all that is there. A server that is starting is asked again.
func (f *feedReader) follow(url string) {
	f.t.Helper()
	for last := "-"; last != f.cursor; {
		resp, err := http.Get(url + "/api/finished?limit=3&after=" + f.cursor)
		if err != nil {
			f.t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests {
			sleep(f.t.Context(), 50*time.Millisecond)
			continue
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			f.t.Fatalf("behind %s: %s: %s, %v", f.cursor, resp.Status, body, err)
		}
		for line := range strings.Lines(string(body)) {
			var g struct{ Board wamble.BoardID }
			if err := json.Unmarshal([]byte(line), &g); err != nil {
				f.t.Fatal(err)
			}
			f.told[g.Board]++
		}
		last, f.cursor = f.cursor, resp.Header.Get("Wamble-Cursor")
	}
}

// check compares the games that were read with the games that have ended.
func (f *feedReader) check(ended map[wamble.BoardID]bool) {
	f.t.Helper()
	for id := range ended {
		if f.told[id] != 1 {
			f.t.Errorf("the reader was told %d times of board %d", f.told[id], id)
		}
	}
	if len(f.told) != len(ended) || len(ended) == 0 {
		f.t.Errorf("the reader was told of %d games, %d have ended", len(f.told), len(ended))
	}
}

// finished returns the games that have ended.
func finished(t testing.TB, db store.Queries) map[wamble.BoardID]bool {
	t.Helper()
	list := map[wamble.BoardID]bool{}
	for g, err := range db.Games(t.Context(), wamble.GameFilter{Finished: true}) {
		if err != nil {
			t.Fatal(err)
		}
		list[g.ID] = true
	}
	return list
}
