package client

import (
	"context"
	"errors"
	"math"
	"time"

	"wamble"
	"wamble/wire"
)

// maxEvents is how many events are queued before the oldest is dropped.
const maxEvents = 256

// EventKind is the kind of an Event.
type EventKind uint8

const (
	// BoardChanged: the server has given the player another board, because the reservation of
	// the old one has expired. Board is the new one.
	BoardChanged EventKind = iota + 1
	// Notice: a notification of the server, see Notice, Text and Board.ID.
	Notice
	// Refused: the server sent an error that is no answer, such as that it has no board for the
	// player any more. Err is a *wamble.Denied.
	Refused
	// Disconnected: the connection broke for the reason Err. The client reconnects.
	Disconnected
	// Resumed: the client is connected again. Board is the current board; the token is a new
	// one if the server no longer knew the old.
	Resumed
)

// Event is something that no request asked for.
type Event struct {
	Kind   EventKind
	Board  Board
	Notice wire.NoticeType // with Notice
	Text   string          // with Notice
	Flags  wire.Flags      // with Notice: wire.FlagSummaryFallback, wire.FlagSpectateStopped
	// Stays says how long an announcement stays (with Notice); nil if it is shown once.
	Stays *Stays
	Err   error // with Refused and Disconnected
}

// Stays describes an announcement that stays for a time: it is sent again when the client
// reconnects.
type Stays struct {
	ID        int64         // of the announcement
	For       time.Duration // remaining time; 0 if it is withdrawn
	Countdown bool          // the announced event happens at the end of that time
}

// staysOf returns how long the announcement in a packet stays, nil if it does not.
func staysOf(p *wire.Packet) *Stays {
	id, ok := p.Ext.Int(wire.KeyNoticeID)
	if !ok {
		return nil
	}
	seconds, _ := p.Ext.Int(wire.KeyNoticeSeconds)
	countdown, _ := p.Ext.Int(wire.KeyNoticeCountdown)
	return &Stays{ID: id, For: time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second,
		Countdown: countdown == 1}
}

// Event waits for the next event. The oldest events are dropped if more than 256 are unread.
// After Close it returns the remaining events, then the reason.
func (c *Client) Event(ctx context.Context) (Event, error) { return c.events.next(ctx) }

// Missed returns how many events were dropped.
func (c *Client) Missed() uint64 { return c.events.lost() }

// pushed handles a packet that is not an answer.
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
	// Any other packet is a late answer to a request that no caller waits for.
}

// Watching returns the current watch, nil if there is none.
func (c *Client) Watching() *Watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watch
}

// DeniedCode returns the code of the refusal in err, 0 if err is not a refusal.
func DeniedCode(err error) wamble.Code {
	if d, ok := errors.AsType[*wamble.Denied](err); ok {
		return d.Code
	}
	return 0
}
