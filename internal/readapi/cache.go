package readapi

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"wamble/internal/guard"
)

// cache keeps answers during their lifetime. Concurrent requests for a missing one share a
// query (singleflight); of different ones the hosts take turns. The number of concurrent queries is bounded, and each
// holds its slot for restShare times as long again, so that readers leave the database to players.
type cache struct {
	now   func() time.Time
	asks  *turns // slots of queries
	heavy *turns // of those that read much

	mu      sync.Mutex
	entries map[string]*entry
	bytes   int
}

// entry is an answer in the cache, or one whose query is under way.
type entry struct {
	done  chan struct{} // closed when answer and err are set
	until time.Time     // end of the lifetime
	*answer
	err error
}

// The bounds of a cache, and of the pause after a query.
const (
	restShare     = 3
	maxRest       = time.Second
	maxEntries    = 1024
	maxCacheBytes = 16 << 20
)

func newCache(now func() time.Time, asks, heavy int) *cache {
	return &cache{now: now, asks: &turns{free: asks}, heavy: &turns{free: heavy}, entries: map[string]*entry{}}
}

// get returns the answer of a key from the cache, or by calling ask in a slot of turns, for at most askTime. The
// call does not end with the request of the host, because others may wait for the answer.
func (s *cache) get(turns *turns, host netip.Prefix, key string,
	ask func(ctx context.Context) (*answer, error)) (*answer, error) {
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
		go s.fetch(turns, host, key, b, ask)
	}
	s.mu.Unlock()
	<-b.done
	return b.answer, b.err
}

// fetch calls ask, and keeps the answer if it has a lifetime.
func (s *cache) fetch(turns *turns, host netip.Prefix, key string, b *entry,
	ask func(ctx context.Context) (*answer, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if b.err = turns.take(ctx, host); b.err == nil {
		asked := time.Now()
		// A panic is returned to the waiting requests: see API.mount.
		b.err = guard.Call("a question to the database", func() (err error) { b.answer, err = ask(ctx); return err })
		rest := min(restShare*time.Since(asked), maxRest)
		time.AfterFunc(rest, turns.give)
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

// makeRoom drops all expired entries, or else any one, and reports whether there is room.
// Entries whose query is under way are kept.
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
