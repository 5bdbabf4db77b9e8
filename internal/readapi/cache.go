package readapi

import (
	"context"
	"sync"
	"time"

	"wamble/internal/guard"
)

// cache is a singleflight cache: it keeps answers while they are good, and when
// several want one that is not there, one asks and the others wait for it. Only
// so many ask at a time, and after each question restShare times as long as it took
// nobody asks in its stead: readers cannot take the database from players.
type cache struct {
	now  func() time.Time
	asks chan struct{} // a semaphore

	mu      sync.Mutex
	entries map[string]*entry
	bytes   int
}

// entry is an answer in the cache, or one that is being asked for.
type entry struct {
	done  chan struct{} // closed when answer and err are there
	until time.Time     // good so long
	*answer
	err error
}

// The bounds of a cache.
const (
	restShare     = 3
	maxRest       = time.Second
	maxEntries    = 1024
	maxCacheBytes = 16 << 20
)

func newCache(now func() time.Time, asks int) *cache {
	return &cache{now: now, asks: make(chan struct{}, asks), entries: map[string]*entry{}}
}

// get returns the answer under a key, from the cache or by asking, which takes
// askTime at most. Asking does not end with the reader: others may wait for the
// answer, and at the end of the server a request in progress is still answered.
func (s *cache) get(key string, ask func(ctx context.Context) (*answer, error)) (*answer, error) {
	s.mu.Lock()
	b := s.entries[key]
	if b == nil || b.finished() && !s.now().Before(b.until) {
		if b == nil && len(s.entries) >= maxEntries && !s.makeRoom() {
			s.mu.Unlock()
			return nil, errBusy
		}
		s.drop(key)
		b = &entry{done: make(chan struct{})}
		s.entries[key] = b
		go s.fetch(key, b, ask)
	}
	s.mu.Unlock()
	<-b.done
	return b.answer, b.err
}

// fetch asks, and keeps the answer if it is good for a while.
func (s *cache) fetch(key string, b *entry, ask func(ctx context.Context) (*answer, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	select {
	case s.asks <- struct{}{}:
		asked := time.Now()
		// A panic is that of the readers who wait: see API.mount.
		b.err = guard.Call("a question to the database", func() (err error) { b.answer, err = ask(ctx); return err })
		rest := min(restShare*time.Since(asked), maxRest)
		time.AfterFunc(rest, func() { <-s.asks })
	case <-ctx.Done():
		b.err = errBusy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.err == nil {
		b.until = s.now().Add(b.good)
		s.bytes += len(b.body)
	}
	close(b.done)
	if b.err != nil || b.good == 0 || s.bytes > maxCacheBytes {
		s.drop(key)
	}
}

func (b *entry) finished() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// drop removes an entry.
func (s *cache) drop(key string) {
	if b := s.entries[key]; b != nil {
		if b.finished() && b.answer != nil {
			s.bytes -= len(b.body)
		}
		delete(s.entries, key)
	}
}

// makeRoom drops the entries that are no longer good, or else any one, and reports
// whether there is room then: entries that are being asked for stay.
func (s *cache) makeRoom() bool {
	var any string
	now := s.now()
	for key, b := range s.entries {
		if !b.finished() {
			continue
		}
		any = key
		if !now.Before(b.until) {
			s.drop(key)
		}
	}
	if len(s.entries) >= maxEntries && any != "" {
		s.drop(any)
	}
	return len(s.entries) < maxEntries
}
