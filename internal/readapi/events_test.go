package readapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
)

// TestEventsOfTheRested: a reader who comes back to a paused stream is sent what they have
// missed when it is added again, and a reset when it is not, without a new event.
func TestEventsOfTheRested(t *testing.T) {
	for _, kept := range []bool{true, false} {
		r := newRig(t)
		web := httptest.NewServer(r)
		defer web.Close()
		list := []Happened{moved(1, 0, 17, 10), moved(2, 0, 17, 10), moved(3, 0, 17, 10)}
		r.stream.Add(0, 0, 3, list)
		if r.stream.Wanted(0, 3, noon) {
			t.Fatal("nobody reads it, and it is wanted")
		}
		came := make(chan struct{})
		go func() {
			defer close(came)
			for !r.stream.Wanted(0, 3, noon) { // as a drain asks
				time.Sleep(time.Millisecond)
			}
			if kept {
				r.stream.Add(0, 0, 3, list)
			} else {
				r.stream.Add(0, 3, 3, nil)
			}
		}()
		want := []string{"counts", `"ply":2`, `"ply":3`}
		if !kept {
			want = []string{"counts", "reset"}
		}
		events, _ := observe(t, web.URL+"/api/events", "5f2a91c0-1-1", len(want))
		<-came
		for i := range want {
			if !strings.Contains(events[i], want[i]) {
				t.Errorf("kept %v: got %q", kept, events)
			}
		}
	}
}

// observe reads the stream of a rig over HTTP: each event as "kind data", until it has n.
// After the first one, which has the reader's position, it calls then.
func observe(t *testing.T, url, last string, n int, then ...func()) (events []string, id string) {
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
			for ; len(events) == 1 && len(then) > 0; then = then[1:] {
				then[0]()
			}
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
	r.stream.Add(0, 0, 3, []Happened{moved(1, 0, 17, 10), moved(2, 0, 18, 11),
		{Seq: 3, Place: 2, Move: Move{Board: 17},
			Ended: &Ended{Board: 17, Winner: "draw", Reason: "move limit", Plies: 1, Seconds: 3, Finished: noon}}})
	move := func(seq, board, session int) string {
		return fmt.Sprintf(`move {"board":%d,"ply":%d,"uci":"e2e4","session":%d,"at":"2026-11-15T12:00:00Z"}`, board,
			seq, session)
	}
	const over = `finished {"board":17,"winner":"draw","reason":"move limit","plies":1,"seconds":3,"finished":"2026-11-15T12:00:00Z"}`
	name, _ := r.Name()
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
	// Without an id the stream begins now; the next event wakes the reader.
	events, _ := observe(t, url, "", 2, func() { r.stream.Add(0, 3, 4, []Happened{moved(4, 0, 19, 12)}) })
	if want := move(4, 19, 12); events[1] != want {
		t.Errorf("live: got %v, want %s", events, want)
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

// TestNamesOfAPage: a reader of a player's events finds them also when another reader has
// filled the cache of names meanwhile.
func TestNamesOfAPage(t *testing.T) {
	r := newRig(t)
	f := filter{player: wamble.FoldName(ada.Handle)}
	page := []event{{happened: Happened{Move: Move{Session: 11}}}, {happened: Happened{Move: Move{Session: 12}}}}
	others := make([]wamble.SessionID, maxNames)
	for i := range others {
		others[i] = wamble.SessionID(1000 + i)
	}
	for range 2 { // unknown, and cached
		if err := f.learn(t.Context(), r.API, page); err != nil {
			t.Fatal(err)
		}
		r.names.keep(r.clock(), others, nil)
		if !f.has(&page[0]) || f.has(&page[1]) {
			t.Errorf("of the player's event and that of another one: %t, %t", f.has(&page[0]), f.has(&page[1]))
		}
	}
}

// TestObserversAreShared: when all places are taken a host with few gets one from the host
// with most, and no other host does.
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

// TestEventsEnd: when the server pauses, observers get the waiting events and are
// disconnected.
func TestEventsEnd(t *testing.T) {
	r := newRig(t)
	web := httptest.NewServer(r)
	defer web.Close()
	r.stream.Add(0, 0, 1, []Happened{moved(1, 0, 17, 10)})
	r.stream.Stop(true)
	resp, err := http.Get(web.URL + "/api/events?after=5f2a91c0-1-0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil || !strings.Contains(text.String(), `"board":17`) {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestEventsOfTheBanned: a stream ends soon after its reader may not have it any more.
func TestEventsOfTheBanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		over := make(chan struct{})
		go func() {
			r.ask(request("/api/events?board=17").WithContext(ctx))
			close(over)
		}()
		time.Sleep(time.Minute)
		r.mu.Lock()
		r.denied = "spectate.access"
		r.mu.Unlock()
		r.later(permitGood)
		began := time.Now()
		select {
		case <-over:
		case <-time.After(time.Minute):
		}
		if got := time.Since(began); got > countsEvery {
			t.Errorf("the stream went on for %v, want %v", got, countsEvery)
		}
	})
}
