package readapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"wamble"
	"wamble/internal/share"
)

const (
	maxObservers = 256              // concurrent observers
	countsEvery  = 5 * time.Second  // interval of counts, which also keep the connection alive
	writeTime    = 10 * time.Second // longest write to an observer
	namesGood    = 30 * time.Second // lifetime of a cached handle
	maxNames     = 8192             // cached handles
)

// observers has the readers of the stream by host. If there are maxObservers, a new one
// replaces the oldest one of the host that has most.
type observers struct {
	mu    sync.Mutex
	hosts share.Table[observer]
	n     int
}

type observer struct {
	cancel  context.CancelFunc
	holding share.Holding[observer]
	gone    bool
}

// enter adds an observer; nil if there is no room.
func (o *observers) enter(from netip.Addr, cancel context.CancelFunc) *observer {
	o.mu.Lock()
	defer o.mu.Unlock()
	host := share.HostOf(from)
	if o.n >= maxObservers {
		victim := o.hosts.Yield(host)
		if victim == nil || victim.holding.Host() != host &&
			o.hosts.Count(host)+1 >= o.hosts.Count(victim.holding.Host()) {
			return nil
		}
		o.drop(victim)
		victim.cancel()
	}
	one := &observer{cancel: cancel}
	o.hosts.Add(&one.holding, one, host)
	o.n++
	return one
}

func (o *observers) leave(one *observer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(one)
}

func (o *observers) drop(one *observer) {
	if !one.gone {
		one.gone = true
		o.hosts.Remove(&one.holding)
		o.n--
	}
}

// events streams events until the reader leaves or the server pauses.
func (a *API) events(w http.ResponseWriter, r reader) error {
	wanted, err := filterOf(r)
	if err != nil {
		return err
	}
	if err := a.admitEvents(r, &wanted); err != nil {
		return err
	}
	name, err := a.o.Feed.Name()
	if err != nil {
		return err
	}
	s := &sending{a: a, w: http.NewResponseController(w), to: w, name: name, wanted: wanted,
		buf: []byte("retry: 1000\n\n")}
	if id, shards := lastEvent(r), max(1, a.o.Events.Shards); id == "" {
		s.fresh = true
	} else if s.spot.at, err = positionOf(id, name, shards); err != nil {
		return err
	} else if s.spot.at == nil { // the id is of another journal: the reader has missed all
		s.spot.at = make(position, shards)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	one := a.observers.enter(r.From, cancel)
	if one == nil {
		return errBusy
	}
	defer a.observers.leave(one)
	a.o.Events.enter()
	defer func() { a.o.Events.leave(a.o.Now()) }()

	head(w, eventsType).Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	// The read deadline of the request would end the stream, because net/http goes on
	// reading to notice that the reader leaves.
	s.w.SetReadDeadline(time.Time{})
	counts := time.NewTicker(countsEvery)
	defer counts.Stop()
	s.begin()
	if s.counts(ctx) != nil {
		return nil // the answer has begun, so it just ends
	}
	for {
		changed := a.o.Events.Changed() // before reading, so that nothing is missed
		if err := s.send(ctx); err != nil || changed == nil {
			return nil
		}
		select {
		case <-changed:
		case <-counts.C:
			if denied := new(wamble.Denied); errors.As(a.admitEvents(r, &wanted), &denied) {
				return nil // the reader was banned, or the policy has changed
			}
			if s.counts(ctx) != nil {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// admitEvents returns a *wamble.Denied unless the reader may have the events that are wanted.
func (a *API) admitEvents(r reader, wanted *filter) error {
	err := a.admit(r.Context(), r.Who, r.row.rights)
	if err == nil && wanted.board == 0 { // the moves of all boards, as the summary shows them
		err = a.admit(r.Context(), r.Who, mayViewAll)
	}
	return err
}

// lastEvent returns the id of the last event that the reader has received, from the header
// that browsers send or from the query.
func lastEvent(r reader) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("after")
}

// sending is one observer's stream.
type sending struct {
	a      *API
	w      *http.ResponseController
	to     http.ResponseWriter
	name   string // of the journal
	spot   spot
	fresh  bool // it begins at the end of the stream, once that is known
	waited bool // the end was not known when it came
	placed bool // the id of its place was sent
	wanted filter
	buf    []byte
}

// begin sets the place of a fresh reader, and reports whether the reader has one.
func (s *sending) begin() bool {
	if s.fresh {
		at, known := s.a.o.Events.end(s.waited)
		if s.waited = !known; known {
			s.spot, s.fresh = at, false
		}
	}
	return !s.fresh
}

// send sends the events after the reader's place. If some are no longer kept, it first sends
// a reset.
func (s *sending) send(ctx context.Context) error {
	for s.begin() {
		if !s.placed { // with the id nothing is missed if the connection is lost now
			s.placed = true
			s.buf = fmt.Appendf(s.buf, "id: %s\n\n", s.spot.at.id(s.name))
		}
		page, from, missed := s.a.o.Events.read(s.name, &s.spot)
		if missed {
			s.buf = sse(s.buf, from.id(s.name), "reset", []byte(`{"reason":"what you have missed is no longer kept"}`))
		}
		if err := s.wanted.learn(ctx, s.a, page); err != nil {
			return err
		}
		for i := range page {
			if s.wanted.has(&page[i]) {
				s.buf = append(s.buf, page[i].text...)
			}
		}
		if err := s.flush(ctx); err != nil || len(page) < streamPage {
			return err
		}
	}
	return nil
}

// counts sends the current counts, with the id of the reader's place.
func (s *sending) counts(ctx context.Context) error {
	got, err := s.a.live(reader{})
	if err == nil {
		id := ""
		if !s.fresh {
			id, s.placed = s.spot.at.id(s.name), true
		}
		s.buf = sse(s.buf, id, "counts", []byte(strings.TrimSpace(string(got.body))))
	} else {
		s.buf = append(s.buf, ":\n\n"...) // the profile is starting: send a keep-alive
	}
	return s.flush(ctx)
}

// flush writes the buffer. A write that takes longer than writeTime is an error.
func (s *sending) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil || len(s.buf) == 0 {
		return err
	}
	if err := s.w.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := s.to.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return err
	}
	return s.w.Flush()
}

// filter selects events for an observer; zero fields select all.
type filter struct {
	board   wamble.BoardID
	session wamble.SessionID
	player  string                      // folded
	handles map[wamble.SessionID]string // of the page that was read last, folded; if player is set
}

func filterOf(r reader) (filter, error) {
	board, err := r.number("board")
	if err != nil {
		return filter{}, err
	}
	session, err := r.number("session")
	if err != nil {
		return filter{}, err
	}
	player := r.URL.Query().Get("player")
	if player != "" && !wamble.IsName(player) {
		return filter{}, badf("a handle has 3 to 63 of A-Z, a-z, 0-9, - and _")
	}
	return filter{
		board: wamble.BoardID(board), session: wamble.SessionID(session), player: wamble.FoldName(player),
	}, nil
}

func (f *filter) has(e *event) bool {
	return (f.board == 0 || e.happened.Board == f.board) && (f.session == 0 || e.happened.Session == f.session) &&
		(f.player == "" || e.happened.Session != 0 && f.handles[e.happened.Session] == f.player)
}

// learn looks up the handles of a page's sessions, if the filter needs them.
func (f *filter) learn(ctx context.Context, a *API, page []event) error {
	if f.player == "" {
		return nil
	}
	var unknown []wamble.SessionID
	f.handles, unknown = a.names.of(a.o.Now(), page)
	if len(unknown) == 0 {
		return nil
	}
	handles, err := a.o.Handles(ctx, unknown)
	if err != nil {
		return err
	}
	for i, id := range unknown {
		f.handles[id] = wamble.FoldName(handles[i])
	}
	a.names.keep(a.o.Now(), unknown, f.handles)
	return nil
}

// names caches the handles of sessions for namesGood.
type names struct {
	mu     sync.Mutex
	cached map[wamble.SessionID]named
}

type named struct {
	handle string // folded; "" for a guest
	until  time.Time
}

// of returns the cached handles of a page's sessions, and the sessions that are not cached.
func (n *names) of(now time.Time, page []event) (known map[wamble.SessionID]string, unknown []wamble.SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known = map[wamble.SessionID]string{}
	for _, e := range page {
		id := e.happened.Session
		if v, ok := n.cached[id]; ok && !now.After(v.until) {
			known[id] = v.handle
		} else if id != 0 && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	return known, unknown
}

// keep caches the handles of sessions.
func (n *names) keep(now time.Time, ids []wamble.SessionID, handles map[wamble.SessionID]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cached == nil || len(n.cached)+len(ids) > maxNames {
		n.cached = map[wamble.SessionID]named{}
	}
	for _, id := range ids {
		n.cached[id] = named{handles[id], now.Add(namesGood)}
	}
}
