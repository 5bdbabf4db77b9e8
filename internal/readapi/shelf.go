package readapi

import (
	"context"
	"sync"
	"time"
)

// shelf keeps answers while they are good. When several want the same one that
// is not there, one asks and the others wait for it; and only so many ask at a
// time, so that readers cannot take the database from players.
type shelf struct {
	now  func() time.Time
	asks chan struct{}

	mu    sync.Mutex
	books map[string]*book
	bytes int
}

// book is an answer on the shelf, or one that is being asked for.
type book struct {
	done  chan struct{} // closed when answer and err are there
	until time.Time     // good so long
	*answer
	err error
}

// The bounds of a shelf.
const (
	maxBooks = 1024
	maxBytes = 16 << 20
)

func newShelf(now func() time.Time, asks int) *shelf {
	return &shelf{now: now, asks: make(chan struct{}, asks), books: map[string]*book{}}
}

// get returns the answer under a key, from the shelf or by asking, which takes
// askTime at most. It does not end with the reader: others may wait for it, and
// at the end of the server a request in progress is still answered.
func (s *shelf) get(key string, ask func(ctx context.Context) (*answer, error)) (*answer, error) {
	s.mu.Lock()
	b := s.books[key]
	if b == nil || b.finished() && !s.now().Before(b.until) {
		if b == nil && len(s.books) >= maxBooks && !s.makeRoom() {
			s.mu.Unlock()
			return nil, errBusy
		}
		s.drop(key)
		b = &book{done: make(chan struct{})}
		s.books[key] = b
		go s.fetch(key, b, ask)
	}
	s.mu.Unlock()
	<-b.done
	return b.answer, b.err
}

// fetch asks, and puts the answer on the shelf, if it is good for a while.
func (s *shelf) fetch(key string, b *book, ask func(ctx context.Context) (*answer, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	select {
	case s.asks <- struct{}{}:
		b.answer, b.err = ask(ctx)
		<-s.asks
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
	if b.err != nil || b.good == 0 || s.bytes > maxBytes {
		s.drop(key)
	}
}

func (b *book) finished() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// drop takes a book off the shelf.
func (s *shelf) drop(key string) {
	if b := s.books[key]; b != nil {
		if b.finished() && b.answer != nil {
			s.bytes -= len(b.body)
		}
		delete(s.books, key)
	}
}

// makeRoom drops what is no longer good, or else any one, and reports whether
// there is room then: what is being asked for stays.
func (s *shelf) makeRoom() bool {
	var any string
	now := s.now()
	for key, b := range s.books {
		if !b.finished() {
			continue
		}
		any = key
		if !now.Before(b.until) {
			s.drop(key)
		}
	}
	if len(s.books) >= maxBooks && any != "" {
		s.drop(any)
	}
	return len(s.books) < maxBooks
}
