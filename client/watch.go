package client

import (
	"context"
	"errors"
	"sync"

	"wamble"
	"wamble/wire"
)

// maxSightings is how many sightings wait for a reader before the oldest is
// dropped.
const maxSightings = 4096

// ErrStopped is returned when watching has ended: by Stop, by another
// Spectate, or by the server.
var ErrStopped = errors.New("watching has ended")

// View says what to watch.
type View struct {
	Board wamble.BoardID // this board; 0 is the summary of all boards
	// The kinds of boards in the summary; neither is both.
	Chess960, Standard bool
}

// Watch is a stream of what a spectator sees. A client has one at a time.
type Watch struct {
	c       *Client
	updates *queue[Sighting]

	mu   sync.Mutex
	view View

	order order // of the loop
}

// order tells a late update from a new one: datagrams overtake each other.
type order struct {
	generation int64
	versions   map[wamble.BoardID]int64
}

// maxVersions bounds the boards whose versions are remembered.
const maxVersions = 1 << 16

// late reports whether a sighting is older than one that was seen before.
func (o *order) late(s *Sighting) bool {
	switch {
	case s.State == "" && s.Generation < o.generation:
		return true
	case s.Generation != o.generation || s.Reset || len(o.versions) >= maxVersions:
		o.generation = s.Generation
		clear(o.versions)
	}
	if s.Board.Version == 0 {
		return false
	}
	if s.Board.Version < o.versions[s.Board.ID] {
		return true
	}
	if o.versions == nil {
		o.versions = map[wamble.BoardID]int64{}
	}
	o.versions[s.Board.ID] = s.Board.Version
	return false
}

// Sighting is one board at one moment.
type Sighting struct {
	Board Board
	// Reset begins a new summary: what was seen before of other generations is
	// gone. Board is empty.
	Reset bool
	// Gone says that the board cannot be watched any more: its game is over, or
	// nobody plays on it.
	Gone bool
	// Generation numbers the summary that the board belongs to; 0 when one
	// board is watched. A higher one begins a new summary, too: its Reset was
	// lost.
	Generation int64
	// State is what is watched from now on, "summary" or "focus"; empty when
	// nothing has changed.
	State string
}

// Spectate begins to watch. When the connection breaks the client goes on
// watching as soon as it is back.
func (c *Client) Spectate(ctx context.Context, v View) (*Watch, error) {
	w := &Watch{c: c, view: v, updates: newQueue[Sighting](maxSightings)}
	c.mu.Lock()
	old := c.watch
	c.watch = w // before the answer, so that no sighting is lost
	c.mu.Unlock()
	if old != nil {
		old.updates.end(ErrStopped)
	}
	if err := w.Turn(ctx, v); err != nil {
		c.endWatch(w, err)
		return nil, err
	}
	return w, nil
}

// endWatch ends w, and the client's watching if it is the present one.
func (c *Client) endWatch(w *Watch, why error) {
	c.mu.Lock()
	if c.watch == w {
		c.watch = nil
	}
	c.mu.Unlock()
	w.updates.end(why)
}

// Next waits for the next sighting. A reader who is more than 4096 behind
// loses the oldest. It returns ErrStopped when watching has ended.
func (w *Watch) Next(ctx context.Context) (Sighting, error) { return w.updates.next(ctx) }

// Missed is how many sightings were dropped because nobody read them in time.
func (w *Watch) Missed() uint64 { return w.updates.lost() }

// View is what is watched.
func (w *Watch) View() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

// Turn watches something else: another board, or the summary.
func (w *Watch) Turn(ctx context.Context, v View) error {
	k, err := w.call(ctx, v)
	if err != nil {
		return err
	}
	return w.c.do(k)
}

// call is the request to watch v.
func (w *Watch) call(ctx context.Context, v View) (*call, error) {
	h := wire.Header{Board: v.Board}
	if v.Chess960 {
		h.Flags |= wire.FlagFilterChess960
	}
	if v.Standard {
		h.Flags |= wire.FlagFilterStandard
	}
	k, err := newCall(ctx, h, wire.SpectateGame{})
	if err != nil {
		return nil, err
	}
	want := wire.SpectateSummary
	if v.Board != 0 {
		want = wire.SpectateFocus
	}
	k.take = taking(func(p *wire.Packet, m *wire.SpectateUpdate) bool {
		state, _ := p.Ext.Text(wire.KeySpectateState)
		if state != want || p.Board != v.Board {
			return false // of what was watched until now
		}
		w.mu.Lock()
		w.view = v
		w.mu.Unlock()
		w.saw(p, m)
		return true
	})
	return k, nil
}

// Stop ends watching.
func (w *Watch) Stop(ctx context.Context) error {
	_, err := ask(ctx, w.c, wire.Header{}, wire.SpectateStop{},
		func(p *wire.Packet, _ *wire.SpectateUpdate) (struct{}, bool) {
			state, _ := p.Ext.Text(wire.KeySpectateState)
			return struct{}{}, state == wire.SpectateIdle
		})
	if err == nil {
		w.c.endWatch(w, ErrStopped)
	}
	return err
}

// saw takes one packet of the stream.
func (w *Watch) saw(p *wire.Packet, m *wire.SpectateUpdate) {
	s := Sighting{Board: boardOf(p, m.FEN)}
	s.Generation, _ = p.Ext.Int(wire.KeySpectateGeneration)
	s.State, _ = p.Ext.Text(wire.KeySpectateState)
	if s.State == wire.SpectateIdle {
		w.c.endWatch(w, ErrStopped)
		return
	}
	s.Reset = p.Board == 0
	s.Gone = p.Board != 0 && len(m.FEN) == 0
	if !w.order.late(&s) {
		w.updates.put(s)
	}
}
