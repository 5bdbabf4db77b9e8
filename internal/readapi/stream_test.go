package readapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
)

// moved is a move of a session in a message.
func moved(seq uint64, place int, board wamble.BoardID, session wamble.SessionID) Happened {
	return Happened{Seq: seq, Place: place, Move: Move{Board: board, Ply: int(seq), UCI: "e2e4", Session: session, At: noon}}
}

// TestStreamHasNoGap: whoever reads from the place that he was told last gets each
// happening once and in order, however the drain tells it (twice, in parts, with what
// it told before), or is told that he has missed something.
func TestStreamHasNoGap(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 22))
		var s Stream
		var all []place
		list := func(after, through uint64) (told []Happened) {
			for seq := after + 1; seq <= through; seq++ {
				for place := range int(seq % 3) {
					told = append(told, moved(seq, place, 1, 1))
				}
			}
			return told
		}
		var through uint64
		s.Add(0, 0, nil)
		at, _ := s.end(false)
		var got []place
		for range 100 {
			before := through - min(through, random.Uint64N(4))
			now := through + random.Uint64N(8)
			for seq := through + 1; seq <= now; seq++ {
				for i := range int(seq % 3) {
					all = append(all, place{seq, i + 1})
				}
			}
			s.Add(before, now, list(before, now))
			through = now
			for reads := random.IntN(3); reads > 0; reads-- {
				page, _, to, missed := s.read("5f2a91c0", at)
				if missed {
					t.Fatalf("seed %d: missed something behind %v of %d", seed, at, through)
				}
				for _, e := range page {
					got = append(got, e.at)
				}
				if at = to; len(page) > 0 && random.IntN(2) == 0 {
					at = page[len(page)-1].at // he comes back with the id of an event
				}
			}
		}
		page, _, _, _ := s.read("5f2a91c0", at)
		for len(page) > 0 {
			for _, e := range page {
				got = append(got, e.at)
			}
			page, _, _, _ = s.read("5f2a91c0", page[len(page)-1].at)
		}
		if !slices.Equal(got, all) {
			t.Fatalf("seed %d: read %d of %d\n got %v\nwant %v", seed, len(got), len(all), got, all)
		}
	}
}

// TestStreamForgets: the ring is bounded, and who is too far behind, or behind what a
// hole has cut off, is told so.
func TestStreamForgets(t *testing.T) {
	var s Stream
	for seq := range uint64(3 * streamKept) {
		s.Add(seq, seq+1, []Happened{moved(seq+1, 0, 1, 1)})
	}
	if n := len(s.events); n < streamKept || n > streamKept+streamKept/8 {
		t.Errorf("%d events are kept, want about %d", n, streamKept)
	}
	_, start, _, missed := s.read("5f2a91c0", place{1, 0})
	if !missed || start != s.base {
		t.Errorf("behind the beginning: missed %v, start %v, want %v", missed, start, s.base)
	}
	if page, _, _, missed := s.read("5f2a91c0", s.base); missed || len(page) != streamPage || page[0].at != s.events[0].at {
		t.Errorf("at the base: missed %v, %d events", missed, len(page))
	}
	end, _ := s.end(false)
	s.Add(end.seq+10, end.seq+11, []Happened{moved(end.seq+11, 0, 1, 1)})
	if page, _, _, missed := s.read("5f2a91c0", end); !missed || len(page) != 1 {
		t.Errorf("behind a hole: missed %v, %d events, want 1", missed, len(page))
	}
}

// TestStreamRests: what nobody reads is not kept; who comes then misses nothing that
// happens afterwards, and who comes back late is told that he has missed something.
func TestStreamRests(t *testing.T) {
	var s Stream
	now := noon
	wanted := func(want bool) {
		t.Helper()
		if s.Wanted(now) != want {
			t.Errorf("at %v: wanted is %v", now.Sub(noon), !want)
		}
	}
	wanted(true) // readers of the process before come back
	s.Add(4, 5, []Happened{moved(5, 0, 1, 1)})
	s.enter()
	now = now.Add(time.Hour)
	wanted(true)
	s.leave(now)
	now = now.Add(readersReturn - 1)
	wanted(true)
	old, _ := s.end(false)
	now = now.Add(1)
	wanted(false)
	if len(s.events) > 0 {
		t.Errorf("%d events are kept for nobody", len(s.events))
	}
	s.enter()
	if _, known := s.end(false); known {
		t.Error("a stream that rests has an end")
	}
	wanted(true)
	s.Add(8, 9, []Happened{moved(9, 0, 1, 1)})
	at, known := s.end(true)
	if page, _, _, missed := s.read("5f2a91c0", at); !known || missed || len(page) != 1 || page[0].at.seq != 9 {
		t.Errorf("who has come meanwhile: known %v, missed %v, %v", known, missed, page)
	}
	if _, _, _, missed := s.read("5f2a91c0", old); !missed {
		t.Error("who comes back late was not told")
	}
}

// observe reads the stream of a rig over HTTP: each event as "kind data", until it has n.
func observe(t *testing.T, url, last string, n int) (events []string, id string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != eventsType {
		t.Fatalf("%s: %s, %s", url, resp.Status, kind)
	}
	kind := ""
	for lines := bufio.NewScanner(resp.Body); len(events) < n && lines.Scan(); {
		switch key, value, _ := strings.Cut(lines.Text(), ": "); key {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if !json.Valid([]byte(value)) {
				t.Errorf("%s is not JSON", value)
			}
			if kind == "counts" {
				value = "" // they change
			}
			events = append(events, strings.TrimSpace(kind+" "+value))
		}
	}
	if len(events) < n {
		t.Fatalf("%s: %d events, want %d: %v", url, len(events), n, events)
	}
	return events, id
}

func TestEvents(t *testing.T) {
	r := newRig(t)
	web := httptest.NewServer(r)
	defer web.Close()
	url := web.URL + "/api/events"
	if events, id := observe(t, url, "", 1); events[0] != "counts" || id != "" {
		t.Errorf("before it is known where the stream begins: %v, id %q", events, id)
	}
	r.stream.Add(0, 3, []Happened{moved(1, 0, 17, 10), moved(2, 0, 18, 11),
		{Seq: 3, Place: 2, Move: Move{Board: 17}, Ended: &Ended{Board: 17, Winner: "draw", Reason: "move limit", Plies: 1, Seconds: 3, Finished: noon}}})
	move := func(seq, board, session int) string {
		return fmt.Sprintf(`move {"board":%d,"ply":%d,"uci":"e2e4","session":%d,"at":"2026-11-15T12:00:00Z"}`, board, seq, session)
	}
	const over = `finished {"board":17,"winner":"draw","reason":"move limit","plies":1,"seconds":3,"finished":"2026-11-15T12:00:00Z"}`
	name := r.Name()
	for _, c := range []struct {
		name, query, last string
		want              []string
	}{
		{"everything", "", name + "-1-0", []string{"counts", move(1, 17, 10), move(2, 18, 11), over}},
		{"behind one", "", name + "-1-1", []string{"counts", move(2, 18, 11), over}},
		{"asked for in the query", "?after=" + name + "-2-1", "", []string{"counts", over}},
		{"one board", "?board=17", name + "-1-0", []string{"counts", move(1, 17, 10), over}},
		{"one session", "?session=11", name + "-1-0", []string{"counts", move(2, 18, 11)}},
		{"one player", "?player=H_ADA", name + "-1-0", []string{"counts", move(2, 18, 11)}},
		{"another journal", "", "00000000-2-1", []string{"counts", `reset {"reason":"what you have missed is no longer kept"}`, move(1, 17, 10)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := observe(t, url+c.query, c.last, len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
	// Without an id it begins now; what happens then wakes the reader.
	got := make(chan []string)
	go func() {
		events, _ := observe(t, url, "", 2)
		got <- events
	}()
	for seq := uint64(4); ; seq++ {
		r.stream.Add(seq-1, seq, []Happened{moved(seq, 0, 19, 12)})
		select {
		case events := <-got:
			if !strings.Contains(events[1], `"board":19`) {
				t.Errorf("live: %v", events)
			}
			return
		default:
		}
	}
}

func TestEventsRefused(t *testing.T) {
	r := newRig(t)
	for query, want := range map[string]string{
		"?board=0":   `400 {"error":"board is a number from 1 to 9223372036854775807"}`,
		"?player=ab": `400 {"error":"a handle has 3 to 63 of A-Z, a-z, 0-9, - and _"}`,
		"?after=now": `400 {"error":"Last-Event-ID is the id of an event"}`,
	} {
		if got := r.get("/api/events" + query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// TestObserversAreShared: when all places are taken a host that holds few gets one of
// the host that holds most, and nobody else.
func TestObserversAreShared(t *testing.T) {
	var o observers
	host := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, n}) }
	ended := make([]int, maxObservers)
	for i := range maxObservers {
		if o.enter(host(1), func() { ended[i]++ }) == nil {
			t.Fatalf("observer %d found no place", i)
		}
	}
	one := o.enter(host(2), func() {})
	if one == nil || ended[0] != 1 || o.n != maxObservers {
		t.Fatalf("a newcomer: %v, the oldest was ended %d times, %d places are taken", one, ended[0], o.n)
	}
	if o.enter(host(1), func() {}) == nil || ended[1] != 1 {
		t.Error("a host at its limit does not lose its own")
	}
	o.leave(one)
	o.leave(one)
	if o.n != maxObservers-1 {
		t.Errorf("%d places are taken, want %d", o.n, maxObservers-1)
	}
}

// TestEventsEnd: when the server pauses, observers get what is there and go.
func TestEventsEnd(t *testing.T) {
	r := newRig(t)
	web := httptest.NewServer(r)
	defer web.Close()
	r.stream.Add(0, 1, []Happened{moved(1, 0, 17, 10)})
	r.stream.Stop(true)
	resp, err := http.Get(web.URL + "/api/events?after=" + r.Name() + "-1-0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil || !strings.Contains(text.String(), `"board":17`) {
		t.Errorf("%v: %s", err, text.String())
	}
}
