package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/guard"
)

// TestStoreTime: however many requests miss the cache, the store works for them half of the
// time of one reader, and all that fits into it is answered.
func TestStoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, question, length = 64, 10 * time.Millisecond, 20 * time.Second
		s := newCache(time.Now, maxAsks, maxHeavyAsks)
		var busy, most, answered, worked atomic.Int64
		end := time.Now().Add(length)
		var all sync.WaitGroup
		for i := range readers {
			all.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					_, err := s.get(s.asks, hostNumber(i), fmt.Sprint(i, n), func(context.Context) (*answer, error) {
						most.Store(max(most.Load(), busy.Add(1)))
						time.Sleep(question)
						worked.Add(int64(question))
						busy.Add(-1)
						return &answer{}, nil
					})
					if err == nil {
						answered.Add(1)
					}
				}
			})
		}
		all.Wait()
		if got := time.Duration(worked.Load()); got > length*6/10 || got < length*4/10 {
			t.Errorf("the store worked %v in %v, want about half", got, length)
		}
		if most.Load() > maxAsks || answered.Load() < 900 {
			t.Errorf("%d questions at once, %d answered", most.Load(), answered.Load())
		}
	})
}

// hostNumber is one of many hosts.
func hostNumber(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 32)
}

// TestHostsTakeTurns: a host whose queries fill the queue delays another host by one query of its own, and by none
// of the routes that have slots of their own. What is more than a host may leave waiting is refused at once.
func TestHostsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const query = 50 * time.Millisecond // with its pause a slot is taken for 200 ms
		s := newCache(time.Now, 1, 1)
		slow := func(context.Context) (*answer, error) { time.Sleep(query); return &answer{}, nil }
		var all sync.WaitGroup
		var refused atomic.Int64
		flood := func(turns *turns, name string) {
			for i := range 100 {
				all.Go(func() {
					if _, err := s.get(turns, hostNumber(1), fmt.Sprint(name, i), slow); errors.Is(err, errBusy) {
						refused.Add(1)
					}
				})
			}
			synctest.Wait()
		}
		answered := func(turns *turns, key string) time.Duration {
			t.Helper()
			began := time.Now()
			if _, err := s.get(turns, hostNumber(2), key, slow); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			return time.Since(began)
		}
		flood(s.heavy, "past")
		if got := refused.Load(); got != 100-1-maxHostWaits {
			t.Errorf("%d queries of a host were refused, want %d", got, 100-1-maxHostWaits)
		}
		if got := answered(s.asks, "ranks"); got != query {
			t.Errorf("a query of other slots took %v, want %v", got, query)
		}
		flood(s.asks, "board")
		for i := range 5 {
			if got, most := answered(s.asks, fmt.Sprint("player", i)), 2*(1+restShare)*query; got > most {
				t.Errorf("a query of another host took %v, want at most %v", got, most)
			}
		}
		all.Wait()
	})
}

// TestCache: an answer is cached while it is valid.
func TestCache(t *testing.T) {
	r := newRig(t)
	for _, tc := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {0, 2}} {
		r.later(tc.after)
		r.get("/api/boards/17")
		if got := r.called1("Board"); got != tc.want {
			t.Errorf("after %v: %d looks, want %d", tc.after, got, tc.want)
		}
	}
	r.get("/api/boards/17/pgn")
	if got := r.called1("Board"); got != 3 {
		t.Errorf("another form: %d looks, want 3", got)
	}
	r.get("/api/boards/20")
	r.get("/api/boards/20")
	if got := r.called1("Board"); got != 5 {
		t.Errorf("errors are not kept: %d looks, want 5", got)
	}
}

// TestOneAsks: of concurrent requests one asks the store, the others wait for its answer.
func TestOneAsks(t *testing.T) {
	r := newRig(t)
	r.block = make(chan struct{})
	var all sync.WaitGroup
	answers := make(chan string, 10)
	for range 10 {
		all.Go(func() { answers <- r.get("/api/players/h_ada") })
	}
	<-r.looked
	close(r.block)
	all.Wait()
	for range 10 {
		if got := <-answers; !strings.HasPrefix(got, "200 {") {
			t.Errorf("got %s", got)
		}
	}
	if got := r.called1("SessionByHandle"); got > 2 {
		t.Errorf("%d looks for ten readers", got)
	}
}

// TestCacheIsBounded: new answers replace old ones.
func TestCacheIsBounded(t *testing.T) {
	r := newRig(t)
	for i := range 3 * maxEntries {
		r.later(time.Second) // for the limiter
		if got := r.get(fmt.Sprintf("/api/leaderboard?offset=%d", i)); !strings.HasPrefix(got, "200 {") {
			t.Fatalf("page %d: got %s", i, got)
		}
		r.cache.mu.Lock()
		n := len(r.cache.entries)
		r.cache.mu.Unlock()
		if n > maxEntries {
			t.Fatalf("%d answers in the cache, want at most %d", n, maxEntries)
		}
	}
	r.cache.mu.Lock() // fetch may still hold it after the last answer
	defer r.cache.mu.Unlock()
	for key := range r.cache.entries {
		r.cache.drop(key)
	}
	if r.cache.bytes != 0 {
		t.Errorf("an empty cache has %d bytes", r.cache.bytes)
	}
}

func TestLimiter(t *testing.T) {
	r := newRig(t)
	from := func(addr string) bool { return r.limiter.admit(netip.MustParseAddr(addr)) }
	n := 0
	for from("192.0.2.1") {
		n++
	}
	if n != 3*perSecond {
		t.Errorf("%d at once, want %d", n, 3*perSecond)
	}
	if got, want := r.get("/api/live"), `429 {"error":"too many requests from this address"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !from("192.0.2.2") || !from("2001:db8::1") || r.limiter.admit(netip.Addr{}) {
		t.Error("others are others")
	}
	for from("2001:db8::1:2:3:4") {
		n++
	}
	if n != 6*perSecond-1 {
		t.Errorf("a /56 is one host: %d in all", n)
	}
	r.later(100 * time.Millisecond)
	for i, want := range []bool{true, true, false} {
		if got := from("192.0.2.1"); got != want {
			t.Errorf("a tenth of a second is worth two requests; request %d: %v", i+1, got)
		}
	}
	for range 1000 {
		if !from("127.0.0.1") {
			t.Fatal("this machine is not counted")
		}
	}
	// Many hosts do not make it large, and quiet ones are dropped.
	for i := range 3 * maxHosts {
		if i%100 == 0 {
			r.later(time.Second)
		}
		from(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		if len(r.limiter.hosts) > maxHosts {
			t.Fatalf("%d hosts are remembered", len(r.limiter.hosts))
		}
	}
}

// TestPagesAreLimited: the pages of a host have a limit of their own, and other hosts are others.
func TestPagesAreLimited(t *testing.T) {
	served := 0
	pages := NewLimiter(func() time.Time { return noon }, 10).Limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		served++
	}))
	ask := func(from string) int {
		r, w := httptest.NewRequest(http.MethodGet, "/board/17", nil), httptest.NewRecorder()
		r.RemoteAddr = from
		pages.ServeHTTP(w, r)
		return w.Code
	}
	for range 100 {
		ask("192.0.2.1:99")
	}
	if got := ask("192.0.2.1:98"); got != http.StatusTooManyRequests || served != 30 {
		t.Errorf("%d pages were served to a host, want 30; the next is answered with %d", served, got)
	}
	if got := ask("192.0.2.2:99"); got != http.StatusOK {
		t.Errorf("another host is answered with %d", got)
	}
}

// TestQuestionPanics: a panic in a question to the store is answered 500 and reported, every
// waiting request gets that answer, and the next one asks again.
func TestQuestionPanics(t *testing.T) {
	c := newCache(time.Now, 1, 1)
	for range 3 {
		_, err := c.get(c.asks, hostNumber(1), "key", func(context.Context) (*answer, error) { panic("a test panics in a question") })
		var crash *guard.Panic
		if !errors.As(err, &crash) || problemOf(err).status != http.StatusInternalServerError {
			t.Fatalf("got %v", err)
		}
	}
	got, err := c.get(c.asks, hostNumber(1), "key", func(context.Context) (*answer, error) { return &answer{body: []byte("x")}, nil })
	if err != nil || string(got.body) != "x" {
		t.Errorf("afterwards: %v, %v", got, err)
	}
}
