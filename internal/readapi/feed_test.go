package readapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
)

// lineOf is a game as the feed shows it.
func lineOf(seq int, board wamble.BoardID) string {
	return fmt.Sprintf(`{"cursor":"5f2a91c0-%d","board":%d,"winner":"black","reason":"checkmate","plies":4,"seconds":3,"finished":"2026-11-15T12:00:00Z"}`, seq, board)
}

func TestFeed(t *testing.T) {
	r := newRig(t)
	if got := r.get("/api/finished"); got != "200 " {
		t.Errorf("nothing yet: got %s", got)
	}
	for b := range wamble.BoardID(5) {
		r.end(b + 11)
	}
	for _, tc := range []struct{ name, query, want, cursor string }{
		{"from the beginning", "?limit=2", "200 " + lineOf(1, 11) + "\n" + lineOf(2, 12), "5f2a91c0-2"},
		{"on", "?limit=2&after=5f2a91c0-2", "200 " + lineOf(3, 13) + "\n" + lineOf(4, 14), "5f2a91c0-4"},
		{"the rest", "?after=5f2a91c0-4", "200 " + lineOf(5, 15), "5f2a91c0-5"},
		{"the last two", "?last=2", "200 " + lineOf(4, 14) + "\n" + lineOf(5, 15), "5f2a91c0-5"},
		{"more than there are", "?last=9", "200 " + strings.Join([]string{lineOf(1, 11), lineOf(2, 12), lineOf(3, 13), lineOf(4, 14), lineOf(5, 15)}, "\n"), "5f2a91c0-5"},
		{"no number", "?last=x", `400 {"error":"last is a number from 1 to 1000"}`, ""},
		{"no more", "?after=5f2a91c0-5", "200 ", "5f2a91c0-5"},
		{"behind the newest", "?after=end", "200 ", "5f2a91c0-5"},
		{"of another journal", "?after=5f2a91c1-5", `410 {"error":"the feed no longer has what follows this cursor: begin again without it"}`, ""},
		{"from the future", "?after=5f2a91c0-6", `410 {"error":"the feed no longer has what follows this cursor: begin again without it"}`, ""},
		{"no cursor", "?after=5", `400 {"error":"after is a cursor of the feed, or end"}`, ""},
		{"too many", "?limit=1001", `400 {"error":"limit is a number from 1 to 1000"}`, ""},
		{"too long", "?wait=31", `400 {"error":"wait is a number from 0 to 30"}`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.later(time.Second)
			if got := r.get("/api/finished" + tc.query); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			w := r.serve(request("/api/finished" + tc.query))
			if got := w.Header.Get("Wamble-Cursor"); got != tc.cursor {
				t.Errorf("got cursor %q, want %q", got, tc.cursor)
			}
			if tc.cursor != "" && (w.Header.Get("Content-Type") != "application/x-ndjson" ||
				w.Header.Get("Cache-Control") != "no-store") {
				t.Errorf("got %v", w.Header)
			}
		})
	}
	r.mu.Lock()
	r.games, r.dropped = r.games[3:], 3
	r.mu.Unlock()
	if got := r.get("/api/finished?after=5f2a91c0-2"); !strings.HasPrefix(got, "410") {
		t.Errorf("what was dropped: got %s", got)
	}
	if got := r.get("/api/finished?after=5f2a91c0-3&limit=1"); got != "200 "+lineOf(4, 14) {
		t.Errorf("what is still there: got %s", got)
	}
}

// TestLongPoll: an answer without games waits for one.
func TestLongPoll(t *testing.T) {
	r := newRig(t)
	r.end(11)
	got := make(chan string, 1)
	go func() { got <- r.get("/api/finished?after=end&wait=30") }()
	<-r.looked // it found nothing
	r.end(12)
	select {
	case answer := <-got:
		if answer != "200 "+lineOf(2, 12) {
			t.Errorf("got %s", answer)
		}
	case <-time.After(25 * time.Second):
		t.Error("nobody answered")
	}
}

// TestTooManyWait: a reader who finds no place to wait is answered at once.
func TestTooManyWait(t *testing.T) {
	r := newRig(t)
	for range maxWaits {
		r.waits <- struct{}{}
	}
	if got := r.get("/api/finished?wait=30"); got != "200 " {
		t.Errorf("got %s", got)
	}
}

// parted is a feed in two parts, whose games end in turns.
type parted struct{ games []Ended }

func (p *parted) Parts() int               { return 2 }
func (p *parted) Name() (string, error)    { return "5f2a91c0", nil }
func (p *parted) Changed() <-chan struct{} { return nil }

func (p *parted) End(context.Context) (Positions, error) {
	m := make(Positions, 2)
	for _, g := range p.games {
		m[g.Part] = g.Seq
	}
	return m, nil
}

func (p *parted) Read(_ context.Context, after Positions, limit int) (games []Ended, upTo Positions, gone bool,
	err error) {
	upTo = slices.Clone(after)
	for _, g := range p.games {
		if g.Seq > after[g.Part] && len(games) < limit {
			games = append(games, g)
			upTo[g.Part] = g.Seq
		}
	}
	return games, upTo, false, nil
}

// TestFeedInParts: a cursor has a number for each part, and each line has the cursor that
// follows it.
func TestFeedInParts(t *testing.T) {
	r, feed := newRig(t), &parted{}
	r.o.Feed = feed
	for _, g := range [][2]uint64{{0, 4}, {1, 10}, {1, 11}, {0, 5}, {1, 12}} {
		feed.games = append(feed.games, Ended{Part: int(g[0]), Seq: g[1], Board: wamble.BoardID(g[1])})
	}
	for _, c := range []struct{ query, want, next string }{
		{"?limit=3", "5f2a91c0-4-0 5f2a91c0-4-10 5f2a91c0-4-11", "5f2a91c0-4-11"},
		{"?after=5f2a91c0-4-10", "5f2a91c0-4-11 5f2a91c0-5-11 5f2a91c0-5-12", "5f2a91c0-5-12"},
		{"?last=2", "5f2a91c0-5-11 5f2a91c0-5-12", "5f2a91c0-5-12"},
		{"?after=end", "", "5f2a91c0-5-12"},
		{"?after=5f2a91c0-5", "410", ""}, // of a feed in one part
	} {
		r.later(time.Second)
		w := r.serve(request("/api/finished" + c.query))
		var got []string
		for lines := json.NewDecoder(w.Body); w.StatusCode == http.StatusOK; {
			var one line
			if lines.Decode(&one) != nil {
				break
			}
			got = append(got, one.Cursor)
		}
		if w.StatusCode != http.StatusOK {
			got = []string{fmt.Sprint(w.StatusCode)}
		}
		if next := w.Header.Get("Wamble-Cursor"); strings.Join(got, " ") != c.want || next != c.next {
			t.Errorf("%s: got %v, then %s; want %s, then %s", c.query, got, next, c.want, c.next)
		}
	}
}
