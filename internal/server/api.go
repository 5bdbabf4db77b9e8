package server

import (
	"context"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/readapi"
)

// api is the routes for readers: docs/http.md.
func (rt *runtime) api() http.Handler {
	return readapi.New(readapi.Options{
		Profile: rt.name, Store: library{rt.store, rt}, Admit: rt.admit, Counts: rt.counts, Feed: feed{rt}, Now: time.Now,
	})
}

// startTime is how long a reader waits for a profile that starts: the next image
// after a handoff is there in a moment.
const startTime = 5 * time.Second

// soonLoop returns the loop, or nil if there is none soon.
func (rt *runtime) soonLoop(ctx context.Context) *loop {
	rt.stage.soon(ctx, startTime)
	return rt.loop.Load()
}

// admit asks the profile about a reader.
func (rt *runtime) admit(ctx context.Context, who readapi.Who, rights []readapi.Right) error {
	wanted := make([]access.Right, len(rights))
	for i, r := range rights {
		wanted[i] = access.Right(r)
	}
	l := rt.soonLoop(ctx)
	var denied *wamble.Denied
	if l == nil || !l.do(ctx, func() { denied = l.life.profile.Admits(profile.Reader(who), wanted) }) {
		return readapi.ErrStarting
	}
	if denied != nil {
		return denied
	}
	return nil
}

// counts looks at the profile between two steps.
func (rt *runtime) counts(ctx context.Context) (readapi.Counts, error) {
	l := rt.soonLoop(ctx)
	var c readapi.Counts
	if l == nil || !l.do(ctx, func() {
		p := l.life.profile
		stats, gauges := p.Stats(), p.Gauges()
		c = readapi.Counts{
			Players: gauges.LivePlayers, Sessions: gauges.Players, Watchers: gauges.Watchers, Boards: p.Census(), Moves: stats.Moves, Games: stats.Finished,
		}
	}) {
		return readapi.Counts{}, readapi.ErrStarting
	}
	return c, nil
}

// feed is the finished games of a profile, as they stand in the journal's outbox.
type feed struct{ rt *runtime }

// Name is the beginning of the journal's: another journal has other numbers.
func (f feed) Name() string {
	id := f.rt.runner.JournalID()
	return hex.EncodeToString(id[:4])
}

func (f feed) End() uint64 { return journal.FeedEnd(f.rt.runner) }

func (f feed) Read(after uint64, limit int) ([]readapi.Ended, uint64, bool, error) {
	rows, upTo, gone, err := journal.ReadFeed(f.rt.runner, f.rt.name, after, limit)
	games := make([]readapi.Ended, len(rows))
	for i, r := range rows {
		games[i] = readapi.Ended{
			Seq: r.Seq, Board: r.Board, Winner: r.Winner, Reason: r.Reason, Plies: r.Plies, Seconds: r.Seconds, Finished: r.Finished,
		}
	}
	return games, upTo, gone, err
}

func (f feed) Changed() <-chan struct{} { return f.rt.help.games.wait() }

// bell wakes all who wait for something. Its zero value is ready.
type bell struct {
	mu    sync.Mutex
	next  chan struct{}
	stuck bool
}

// wait returns a channel that is closed at the next ring; nil when the bell is
// stuck.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stuck {
		return nil
	}
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// stick rings for the last time, unless it is undone.
func (b *bell) stick(stuck bool) {
	b.mu.Lock()
	b.stuck = stuck
	b.mu.Unlock()
	b.ring()
}
