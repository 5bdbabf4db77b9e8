package client

import (
	"context"
	"errors"
	"sync"

	"wamble"
	"wamble/wire"
)

// maxUpdates is how many updates are queued before the oldest is dropped.
const maxUpdates = 4096

// ErrStopped is returned after the end of watching: by Stop, by another Spectate, or by the
// server.
var ErrStopped = errors.New("watching has ended")

// View is what is watched.
type View struct {
	Board wamble.BoardID // a single board; 0 for the summary of all boards
	// Chess960 and Standard select the boards of the summary; neither selects both.
	Chess960, Standard bool
}

// Watch is a stream of updates for a spectator. A client has one at a time.
type Watch struct {
	c       *Client
	updates *queue[Update]

	mu   sync.Mutex
	view View

	order order // used by the loop only
}

// order detects late updates: datagrams may overtake each other.
type order struct {
	generation int64
	versions   map[wamble.BoardID]int64
}

// maxVersions bounds the boards whose versions are remembered.
const maxVersions = 1 << 16

// late reports whether an update is older than one that was received before.
func (o *order) late(u *Update) bool {
	switch {
	case u.State == "" && u.Generation < o.generation:
		return true
	case u.Generation != o.generation || u.Reset || len(o.versions) >= maxVersions:
		o.generation = u.Generation
		clear(o.versions)
	}
	if u.Board.Version == 0 {
		return false
	}
	if u.Board.Version < o.versions[u.Board.ID] {
		return true
	}
	if o.versions == nil {
		o.versions = map[wamble.BoardID]int64{}
	}
	o.versions[u.Board.ID] = u.Board.Version
	return false
}

// Update is the state of one board at one time.
type Update struct {
	Board Board
	// Reset begins a new summary: boards of other generations are gone. Board is empty.
	Reset bool
	// Gone says that the board cannot be watched any more: its game is over, or it has no
	// player.
	Gone bool
	// Generation is the number of the board's summary; 0 if a single board is watched. A higher
	// generation also begins a new summary whose Reset was lost.
	Generation int64
	// State is what is watched from now on, "summary" or "focus"; empty if nothing has changed.
	State string
}

// Spectate begins to watch. After a broken connection the client resumes watching when it is
// connected again.
func (c *Client) Spectate(ctx context.Context, v View) (*Watch, error) {
	w := &Watch{c: c, view: v, updates: newQueue[Update](maxUpdates)}
	c.mu.Lock()
	old := c.watch
	c.watch = w // before the answer, so that no update is lost
	c.mu.Unlock()
	if old != nil {
		old.updates.end(ErrStopped)
	}
	if err := w.SetView(ctx, v); err != nil {
		c.endWatch(w, err)
		return nil, err
	}
	return w, nil
}

// endWatch ends w, and the client's watching if w is the current watch.
func (c *Client) endWatch(w *Watch, why error) {
	c.mu.Lock()
	if c.watch == w {
		c.watch = nil
	}
	c.mu.Unlock()
	w.updates.end(why)
}

// Next waits for the next update. The oldest updates are dropped if more than 4096 are unread.
// It returns ErrStopped after the end of watching.
func (w *Watch) Next(ctx context.Context) (Update, error) { return w.updates.next(ctx) }

// Missed returns how many updates were dropped.
func (w *Watch) Missed() uint64 { return w.updates.lost() }

// View returns what is watched.
func (w *Watch) View() View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

// SetView changes what is watched: another board, or the summary.
func (w *Watch) SetView(ctx context.Context, v View) error {
	k, err := w.call(ctx, v)
	if err != nil {
		return err
	}
	return w.c.do(k)
}

// call returns the request to watch v.
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
			return false // an update of what was watched before
		}
		w.mu.Lock()
		w.view = v
		w.mu.Unlock()
		w.receive(p, m)
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

// receive handles one packet of the stream.
func (w *Watch) receive(p *wire.Packet, m *wire.SpectateUpdate) {
	u := Update{Board: boardOf(p, m.FEN)}
	u.Generation, _ = p.Ext.Int(wire.KeySpectateGeneration)
	u.State, _ = p.Ext.Text(wire.KeySpectateState)
	if u.State == wire.SpectateIdle {
		w.c.endWatch(w, ErrStopped)
		return
	}
	u.Reset = p.Board == 0
	u.Gone = p.Board != 0 && len(m.FEN) == 0
	if !w.order.late(&u) {
		w.updates.put(u)
	}
}
