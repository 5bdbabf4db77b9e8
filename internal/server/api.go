package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/readapi"
)

// api returns the handler of the HTTP API of a profile, see docs/http.md.
func (s *Server) api(k *supervisor) http.Handler {
	return readapi.New(readapi.Options{
		Profile: k.name, Store: library{k.store, k}, Admit: k.admit, Counts: k.counts, Feed: s.feed(k), Events: &k.events, Handles: k.handles,
		Now: time.Now, Panicked: k.caught,
	})
}

// startTime is how long a request waits for a profile that starts, as during a handoff.
const startTime = 5 * time.Second

// soon runs f on the profile's goroutine, between two steps. Error: readapi.ErrStarting if
// the profile is not up within startTime.
func (k *supervisor) soon(ctx context.Context, f func(p *profile.Profile)) error {
	start, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case <-k.Up():
	case <-start.Done():
	}
	if !k.Do(ctx, f) {
		return readapi.ErrStarting
	}
	return nil
}

// admit returns a *wamble.Denied unless the profile grants a reader the rights.
func (k *supervisor) admit(ctx context.Context, who readapi.Who, rights []readapi.Right) error {
	wanted := make([]access.Right, len(rights))
	for i, r := range rights {
		wanted[i] = access.Right(r)
	}
	var denied *wamble.Denied
	if err := k.of(who.Token).soon(ctx, func(p *profile.Profile) { denied = p.Admits(profile.Reader(who), wanted) }); err != nil {
		return err
	}
	if denied != nil {
		return denied
	}
	return nil
}

// counts returns the counts of the profile: of shards on this node as they are now, of
// others as reported with their last heartbeat.
func (k *supervisor) counts(ctx context.Context) (c readapi.Counts, err error) {
	others := k.abroad.counts(k.name).sum()
	c.Players, c.Bots = others.Playing(), others.Bots
	for _, l := range k.here() {
		err = errors.Join(err, l.soon(ctx, func(p *profile.Profile) {
			stats, gauges := p.Stats(), p.Gauges()
			one := readapi.Counts{
				Players: gauges.Here + gauges.Waiting, Bots: gauges.Bots, Sessions: gauges.Players, Watchers: gauges.Watchers, Boards: p.Census(), Moves: stats.Moves, Games: stats.Finished,
			}
			for _, crowd := range p.Crowds(readapi.MostCrowds) {
				one.Crowds = append(one.Crowds, readapi.Crowd(crowd))
			}
			addCounts(&c, one)
		}))
	}
	return c, err
}

// handles returns the handles of sessions from memory; "" where it is not known.
func (k *supervisor) handles(ctx context.Context, ids []wamble.SessionID) (handles []string, err error) {
	handles = make([]string, len(ids))
	for _, l := range k.here() {
		err = errors.Join(err, l.soon(ctx, func(p *profile.Profile) {
			for i, id := range ids {
				handles[i] = cmp.Or(handles[i], p.HandleOf(id))
			}
		}))
	}
	return handles, err
}

// happened adds moves and ends of games that have reached the store from a shard to the
// stream of events.
func (k *supervisor) happened(shard int, after, through uint64, list []journal.Happened) {
	told := make([]readapi.Happened, len(list))
	for i, h := range list {
		told[i] = readapi.Happened{Seq: h.Seq, Place: h.Place, Move: readapi.Move{
			Board: h.Board, Ply: h.Ply, UCI: h.UCI, FEN: h.FEN, Session: h.Session, At: h.At.UTC(),
		}}
		if h.Ply == 0 {
			told[i].Ended = &readapi.Ended{Board: h.Board, Winner: h.Winner, Reason: h.Reason, Plies: h.Plies, Seconds: h.Seconds, Finished: h.At}
		}
	}
	k.events.Add(shard, after, through, told)
}

// observing returns a function that reports whether the stream of events of head has
// readers. After a partition has come from another node, readers that were connected there
// are expected.
func (k *supervisor) observing(head *supervisor) func(through uint64) bool {
	var came *part
	return func(through uint64) bool {
		if p := k.part.Load(); k.abroad != nil && p != came {
			came = p
			head.events.Expect(time.Now())
		}
		return head.events.Wanted(k.shard.Index, through, time.Now())
	}
}

// broadcast wakes all goroutines that wait for an event. The zero value is ready.
type broadcast struct {
	mu      sync.Mutex
	next    chan struct{}
	stopped bool
}

// wait returns a channel that is closed at the next send; nil if the broadcast is stopped.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return nil
	}
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// stop sends and stops the broadcast, or with false lets it go on.
func (b *broadcast) stop(stopped bool) {
	b.mu.Lock()
	b.stopped = stopped
	b.mu.Unlock()
	b.send()
}

// library is the store as the HTTP API reads it. A board in memory replaces the stored one,
// which may be older. Nothing is shown before it is durable.
type library struct {
	*Shared
	k *supervisor
}

// Board returns a board of the profile from memory, or else from the store. Handles, and
// which players are bots, are completed from the store if it answers.
func (l library) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	live, ok := l.k.Board(ctx, id)
	stored, err := l.Shared.Board(ctx, id)
	if !ok {
		return stored, err
	}
	players := map[wamble.SessionID]*wamble.Move{}
	for i := range stored.Moves {
		players[stored.Moves[i].Session] = &stored.Moves[i]
	}
	for i := range live.Moves {
		if m := &live.Moves[i]; players[m.Session] != nil {
			m.Handle = cmp.Or(m.Handle, players[m.Session].Handle)
			m.Bot = m.Bot || players[m.Session].Bot
		}
	}
	return live, nil
}
