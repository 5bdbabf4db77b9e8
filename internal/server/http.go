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
	"wamble/internal/admin"
	"wamble/internal/journal"
	"wamble/internal/observe"
	"wamble/internal/profile"
	"wamble/internal/readapi"
	"wamble/web"
)

// site returns the handler of HTTP on the port of a profile: health, API and the web player;
// nil if HTTP is off.
func (s *Server) site(p *Profile) http.Handler {
	if _, on := p.Config().Network.HTTP(); !on {
		return nil
	}
	mux := observe.Health(p.readiness)
	api := s.api(p)
	mux.Handle("GET /api/", api)
	mux.Handle("OPTIONS /api/", api) // CORS preflight of browsers
	pages := readapi.NewLimiter(time.Now, pagesPerSecond)
	mux.Handle("GET /", pages.Limit(web.Player(p.Config().Network.WebSocketPath,
		func() string { return p.Config().Network.ClusterEndpoints })))
	return mux
}

// pagesPerSecond are the pages and their files of one host, which can have many people behind it.
const pagesPerSecond = 100

// draining is the text of /readyz while new players are refused.
const draining = "draining: nobody new is taken"

// The texts of /readyz for a profile without trouble, and for a server without profiles.
const (
	ready      = "ready"
	noProfiles = "no profile runs"
)

// readiness returns whether a profile takes new players, and its text for /readyz.
func (p *Profile) readiness() (up bool, why string) {
	if up, why = p.Stage(); up && p.server.running.draining.Load() {
		return false, draining
	}
	// Play goes on without the database, so the profile stays ready.
	if trouble := p.StoreState().Trouble; up && trouble != "" {
		why += "; but the database: " + trouble
	}
	if p.peers != nil && p.server.partitionCount() > 1 {
		why += "; parts of " + admin.PartsText(p.server.partStatus())
	}
	return up, why
}

// readiness returns whether all profiles are ready, and their texts, for the admin listener.
func (s *Server) readiness() (up bool, why string) {
	list := s.profiles()
	up, why = len(list) > 0, noProfiles
	for _, p := range list {
		isUp, stage := p.readiness()
		if up = up && isUp; !isUp && len(list) > 1 {
			return false, p.name + ": " + stage
		}
		if stage != ready && len(list) > 1 {
			stage = p.name + ": " + stage
		}
		if why == ready || why == noProfiles {
			why = stage
		}
	}
	return up, why
}

// api returns the handler of the HTTP API of a profile, see docs/http.md.
func (s *Server) api(p *Profile) http.Handler {
	return readapi.New(readapi.Options{
		Profile: p.name, Store: readStore{p.store, p}, Admit: p.authorize, Counts: p.counts, Feed: s.feed(p),
		Events: &p.events, Handles: p.handles,
		Now: time.Now, Panicked: p.reportPanic,
	})
}

// startTimeout is how long a request waits for a profile that starts, as during a handoff.
const startTimeout = 5 * time.Second

// whenUp runs f on the shard's goroutine, between two steps. Error: readapi.ErrStarting if
// the shard is not up within startTimeout.
func (sh *Shard) whenUp(ctx context.Context, f func(p *profile.Profile)) error {
	start, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-sh.runtime.Up():
	case <-start.Done():
	}
	if !sh.runtime.Do(ctx, f) {
		return readapi.ErrStarting
	}
	return nil
}

// authorize returns a *wamble.Denied unless the profile grants a reader the rights.
func (p *Profile) authorize(ctx context.Context, who readapi.Who, rights []readapi.Right) error {
	wanted := make([]access.Right, len(rights))
	for i, r := range rights {
		wanted[i] = access.Right(r)
	}
	var denied *wamble.Denied
	unknown := false
	err := p.shardOfToken(who.Token).whenUp(ctx, func(p *profile.Profile) {
		if unknown = who.Stored == nil && !who.Token.IsZero() && !p.Knows(who.Token); !unknown {
			denied = p.Authorize(profile.Reader(who), wanted)
		}
	})
	if err != nil {
		return err
	}
	if unknown {
		return readapi.ErrNotInMemory
	}
	if denied != nil {
		return denied
	}
	return nil
}

// counts returns the counts of the profile: of shards on this node as they are now, of
// others as reported with their last heartbeat.
func (p *Profile) counts(ctx context.Context) (c readapi.Counts, err error) {
	others := p.peers.Counts(p.name).Sum()
	c.Players, c.Bots = others.Playing(), others.Bots
	for _, sh := range p.localShards() {
		err = errors.Join(err, sh.whenUp(ctx, func(p *profile.Profile) {
			stats, gauges := p.Stats(), p.Gauges()
			one := readapi.Counts{
				Players: gauges.Here + gauges.Waiting, Bots: gauges.Bots, Sessions: gauges.Players,
				Watchers: gauges.Watchers, Boards: p.Census(), Moves: stats.Moves, Games: stats.Finished,
			}
			for _, pool := range p.Audiences(readapi.MostWatchedBoards) {
				one.MostWatched = append(one.MostWatched, readapi.Watched(pool))
			}
			addCounts(&c, one)
		}))
	}
	return c, err
}

// handles returns the handles of sessions from memory; "" where it is not known.
func (p *Profile) handles(ctx context.Context, ids []wamble.SessionID) (handles []string, err error) {
	handles = make([]string, len(ids))
	for _, sh := range p.localShards() {
		err = errors.Join(err, sh.whenUp(ctx, func(p *profile.Profile) {
			for i, id := range ids {
				handles[i] = cmp.Or(handles[i], p.HandleOf(id))
			}
		}))
	}
	return handles, err
}

// FeedGrown wakes readers that wait for finished games.
func (sh *Shard) FeedGrown() { sh.profile.gamesChanged.send() }

// Events adds moves and ends of games that have reached the store from the shard to the
// stream of events.
func (sh *Shard) Events(after, through uint64, list []journal.Event) {
	events := make([]readapi.Happened, len(list))
	for i, h := range list {
		events[i] = readapi.Happened{Seq: h.Seq, Place: h.Place, Move: readapi.Move{
			Board: h.Board, Ply: h.Ply, UCI: h.UCI, FEN: h.FEN, Session: h.Session, At: h.At.UTC(),
		}}
		if h.Ply == 0 {
			events[i].Ended = &readapi.Ended{Board: h.Board, Winner: h.Winner, Reason: h.Reason, Plies: h.Plies,
				Seconds: h.Seconds, Finished: h.At}
		}
	}
	sh.profile.events.Add(sh.index, after, through, events)
}

// HoldEvents makes events of the other shards wait for those of messages that the store gets now.
func (sh *Shard) HoldEvents(until uint64, from time.Time) {
	if len(sh.profile.shards) > 1 {
		sh.profile.events.SetBarrier(sh.index, until, from)
	}
}

// WantsEvents reports whether the profile's stream of events has readers. After a partition
// has come from another node, readers that were connected there are expected.
func (sh *Shard) WantsEvents(through uint64) bool {
	prof := sh.profile
	if p := sh.partition.Load(); prof.peers != nil && p != sh.expected {
		sh.expected = p
		prof.events.Expect(time.Now())
	}
	return prof.events.Wanted(sh.index, through, time.Now())
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

// readStore is the store as the HTTP API reads it. A board in memory replaces the stored one,
// which may be older. Nothing is shown before it is durable.
type readStore struct {
	*SharedStore
	profile *Profile
}

// Board returns a board of the profile from memory, or else from the store. Handles, and
// which players are bots, are completed from the store if it answers.
func (l readStore) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	live, ok := l.profile.Board(ctx, id)
	stored, err := l.SharedStore.Board(ctx, id)
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
