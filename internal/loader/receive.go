package loader

import (
	"wamble"
	"wamble/wire"
)

// receive handles one packet for a client; number is the address that it arrived at.
func (l *load) receive(c *client, number uint32, b []byte) {
	h, err := wire.Peek(b)
	if err == nil && h.Ctrl == wire.CtrlAck {
		l.acked(c, h)
		return
	}
	if err == nil && h.Ctrl == wire.CtrlSpectateUpdate && h.Flags.Unreliable() && h.Token == c.token {
		l.saw(c)
		return
	}
	if err == nil {
		err = l.packet.Decode(b)
	}
	if err != nil {
		l.report.Counts.Malformed++
		return
	}
	if !h.Flags.Unreliable() {
		l.sockets.send(number, ackOf(&l.scratch.ack, b))
	}
	if number != c.number { // the client now uses another address and session
		l.report.Counts.Duplicates++
		return
	}
	switch m := l.packet.Message.(type) {
	case *wire.ServerHello:
		l.greetedBy(c, m)
	case *wire.BoardUpdate:
		if l.fresh(c, b, h) {
			l.updated(c, m)
		}
	case *wire.LegalMoves, *wire.PredictionData, *wire.LeaderboardData:
		if l.fresh(c, b, h) {
			l.handleAnswer(c)
		}
	case *wire.Fragment: // of a long page; the first fragment counts as the answer
		if l.fresh(c, b, h) && m.Index == 0 {
			l.handleAnswer(c)
		}
	case *wire.SpectateUpdate:
		if l.fresh(c, b, h) {
			l.saw(c)
			if c.stage == asking {
				l.rest(c, 0) // a watcher sends no further request
			}
		}
	case *wire.Error:
		if h.Flags.Unreliable() || l.fresh(c, b, h) {
			l.refused(c, m.Code)
		}
	}
}

// acked handles the ACK of the current request. If the request was sent more than once, the
// answer may be withheld until the address has proven itself, or be lost: the request is
// repeated soon.
func (l *load) acked(c *client, h wire.Header) {
	r := &c.request
	if h.Seq != c.seq || h.Token != c.token || c.stage == resting {
		return
	}
	r.acked = true
	if r.sends > 1 {
		r.due = min(r.due, l.now+l.options.Wait/4)
	}
}

// fresh reports whether a packet is new and may answer the current request. An answer that
// names its request answers no other: when a move was sent under two numbers, the second answer
// may arrive after the next move was sent, and shows an older board. An answer before its ACK
// is not accepted: the server repeats it with the ACK.
func (l *load) fresh(c *client, b []byte, h wire.Header) bool {
	seq, named := l.packet.Ext.Int(wire.KeyRequestSeq)
	late := named && (uint32(seq) != c.seq || c.stage == resting)
	if late || !named && c.seen.repeated(b, h.Seq, c.request.sends > 1) {
		l.report.Counts.Duplicates++
		return false
	}
	if c.stage != resting && !c.request.acked {
		l.report.Counts.Pushed++
		return false
	}
	c.seen.keep(b, h.Seq)
	return true
}

// greetedBy handles a SERVER_HELLO, if the client waits for one.
func (l *load) greetedBy(c *client, m *wire.ServerHello) {
	if c.stage != greeting || !c.request.acked {
		return
	}
	again := c.known && l.packet.Token == c.token
	if again {
		l.resumed(c)
	} else {
		if c.known {
			l.forget(c)
		}
		l.begin(c)
	}
	if l.greeted < len(l.clients) && c.holds.board == 0 {
		l.greeted++
	}
	l.take(c, m.FEN)
	c.holds.offered = !again
	if l.options.Mode == Hello {
		l.answered(c, c.request.first)
	}
	// An unproven address is sent less. The address is proven now, so ask again.
	if l.moves(c) && !c.holds.whole && !again {
		l.hello(c)
		return
	}
	l.next(c)
}

// resumed counts a resumed session. A client without an unresolved move should still hold its
// board, unless the board was only offered.
func (l *load) resumed(c *client) {
	l.report.Counts.Resumed++
	if !c.pending.open && c.holds.whole && !c.holds.offered && c.holds.board != l.packet.Board {
		l.report.Counts.Moved++
	}
}

// begin stores the token of a new session.
func (l *load) begin(c *client) {
	c.known, c.token = true, l.packet.Token
	if l.options.Mode != Hello { // Verify does not need the sessions of Hello
		c.player = l.report.log.session(c.token)
	}
}

// take makes the board in a packet the client's.
func (l *load) take(c *client, fen wire.Text) {
	s := &c.holds
	s.board, s.offered = l.packet.Board, false
	if l.options.Mode == Hello {
		return
	}
	var err error
	if s.position, s.whole, err = positionOf(fen, l.packet.Ext, l.scratch.fen[:]); err != nil {
		l.report.Counts.Malformed++
	}
}

// updated handles a BOARD_UPDATE: the answer to a move, or a push.
func (l *load) updated(c *client, m *wire.BoardUpdate) {
	if c.stage != asking || !l.moves(c) {
		l.report.Counts.Pushed++
		if c.idle() {
			l.take(c, m.FEN)
		}
		return
	}
	l.report.log.add(c.pending.entry)
	l.answered(c, c.pending.first)
	c.pending.open = false
	l.take(c, m.FEN)
	l.pause(c)
}

// refused handles an ERROR. Without an ACK the request was not executed, and is repeated when
// it is due.
func (l *load) refused(c *client, code wamble.Code) {
	counts := &l.report.Counts
	if c.idle() || !c.request.acked {
		counts.Refused++
		return
	}
	switch {
	case c.stage == asking && code == wamble.UnknownPlayer:
		l.forget(c)
		l.hello(c)
	case c.stage == asking && c.role == Predictor && code == wamble.PredictionReadFailed:
		counts.Rejected++ // the game is over
		l.pause(c)
	case c.stage == asking && (code == wamble.UnknownBoard || code == wamble.MoveRejected):
		counts.Rejected++
		c.pending.open = false
		l.hello(c) // to learn which board the client has
	default: // not now: the move stays unresolved, because it may be stored
		counts.Refused++
		l.rest(c, l.options.Wait)
	}
}

// forget drops a token that the server does not know.
func (l *load) forget(c *client) {
	l.report.Counts.Forgotten++
	if c.pending.open {
		l.report.unresolved = append(l.report.unresolved, c.pending.entry)
	}
	c.pending.open, c.known, c.token = false, false, wamble.Token{}
	c.holds = heldBoard{board: c.holds.board}
}
