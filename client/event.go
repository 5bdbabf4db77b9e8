package client

import (
	"context"
	"errors"
	"math"
	"time"

	"wamble"
	"wamble/wire"
)

// maxEvents is how many events wait for a reader before the oldest is dropped.
const maxEvents = 256

// EventKind says what an Event is about.
type EventKind uint8

const (
	// BoardChanged: the server has given the player another board, because the
	// reservation of the old one has run out. Board is the new one.
	BoardChanged EventKind = iota + 1
	// Notice: a notification of the server; see Notice, Text and Board.ID.
	Notice
	// Refused: the server refuses without having been asked, e.g. because it
	// has no board for the player any more. Err is a *wamble.Denied.
	Refused
	// Disconnected: the connection broke, Err says why. The client tries to
	// connect again.
	Disconnected
	// Resumed: the client is connected again. Board is the present board; the
	// token is a new one if the server no longer knew the old.
	Resumed
)

// Event is something that happened without having been asked for.
type Event struct {
	Kind   EventKind
	Board  Board
	Notice wire.NoticeType // with Notice
	Text   string          // with Notice
	Flags  wire.Flags      // with Notice: wire.FlagSummaryFallback, wire.FlagSpectateStopped
	// Stays is, with Notice, how long an announcement stays; nil: it is said once.
	Stays *Stays
	Err   error // with Refused and Disconnected
}

// Stays is about an announcement that stays for a time: it comes again when the client
// connects again.
type Stays struct {
	ID        int64         // of the announcement
	For       time.Duration // from now on; 0: it is withdrawn
	Countdown bool          // then happens what is announced
}

// staysOf returns how long the announcement of a packet stays, nil if it does not.
func staysOf(p *wire.Packet) *Stays {
	id, ok := p.Ext.Int(wire.KeyNoticeID)
	if !ok {
		return nil
	}
	seconds, _ := p.Ext.Int(wire.KeyNoticeSeconds)
	countdown, _ := p.Ext.Int(wire.KeyNoticeCountdown)
	return &Stays{ID: id, For: time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second, Countdown: countdown == 1}
}

// Event waits for the next event. A reader who is more than 256 events behind
// loses the oldest. When the client is closed it returns what is left, then
// the reason.
func (c *Client) Event(ctx context.Context) (Event, error) { return c.events.next(ctx) }

// Missed is how many events were dropped because nobody read them in time.
func (c *Client) Missed() uint64 { return c.events.lost() }

// pushed handles a packet that answers nothing.
func (c *Client) pushed(p *wire.Packet) {
	switch m := p.Message.(type) {
	case *wire.BoardUpdate:
		if p.Token != c.Token() {
			return
		}
		c.events.put(Event{Kind: BoardChanged, Board: c.adopt(p, m.FEN, p.Token)})
	case *wire.ServerNotification:
		e := Event{Kind: Notice, Notice: m.Type, Text: m.Text.String(), Flags: p.Flags, Stays: staysOf(p)}
		e.Board.ID = p.Board
		c.events.put(e)
	case *wire.SpectateUpdate:
		if w := c.Watching(); w != nil {
			w.receive(p, m)
		}
	case *wire.Error:
		c.events.put(Event{Kind: Refused, Err: denied(p), Board: Board{ID: p.Board}})
	}
	// Anything else is a late answer to a request that no caller waits for.
}

// Watching returns the present watch; nil when nothing is watched.
func (c *Client) Watching() *Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watch
}

// DeniedCode returns the code of the refusal in err, or 0 when it is none.
func DeniedCode(err error) wamble.Code {
	if d, ok := errors.AsType[*wamble.Denied](err); ok {
		return d.Code
	}
	return 0
}
