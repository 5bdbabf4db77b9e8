package profile

import (
	"bytes"
	"slices"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// client is a player of the model: one request at a time, sent again until it is answered.
// Some requests are invalid. As the original's client it drops what arrives before the ACK
// that it waits for.
type client struct {
	w     *world
	peer  wamble.Peer
	token wamble.Token
	board wamble.BoardID
	shown string // position of the offered board; empty after the next request
	fen   string // of the board, if it was sent whole
	seq   uint32
	// pending is the request without an answer; tries counts its copies.
	pending []byte
	ctrl    wire.Control
	move    moveKey
	from    string // position in which the move is made; empty: the client has not seen it
	said    bool   // the move says its ply
	asked   int    // epoch of the client's shard when the move was made
	tries   int
	number  int // of the request, so that old timers do nothing
	since   int // how many reservations there were when it was sent first
	acked   bool
	gone    bool
	mirror  *mirror   // nil: the client watches nothing
	nobody  time.Time // when the client last said hello without a token
	modern  bool      // the client supports cookies
	cookie  []byte
}

// arrive brings a new player.
func (w *world) arrive(i int) {
	w.arrived++
	c := &client{w: w, peer: peerAt(i + 1), modern: i%2 == 0}
	w.clients[c.peer] = c
	if w.rng.IntN(10) < w.members {
		c.token = w.enlist()
	}
	c.hello()
}

// enlist makes a session with an identity that the store has had for long, and returns its
// token.
func (w *world) enlist() wamble.Token {
	block := w.store.lease(Lease{wamble.SessionIDs, 1})
	s := w.store.enlist(wamble.SessionID(block[0].First), 800+float64(w.rng.IntN(800)), w.now)
	w.judge.tokens[s.Token] = s.ID
	w.judge.members[s.ID] = s.Key
	w.judge.began[s.Key] = w.store.players[s.Key].Stats.Rating
	return tokenOf(s.Token)
}

func (c *client) hello() {
	c.seq++
	c.ask(wire.CtrlClientHello, c.helloPacket())
}

func (c *client) helloPacket() []byte {
	if !c.modern {
		return helloPacket(c.token, c.seq)
	}
	b := encode(wire.Header{Token: c.token, Seq: c.seq}, wire.ClientHello{}, wire.NoCookie())
	wire.SetCookie(b, c.cookie)
	return b
}

// challenged says hello again with a cookie.
func (c *client) challenged(cookie []byte) {
	c.cookie = bytes.Clone(cookie)
	if c.ctrl == wire.CtrlClientHello && c.pending != nil {
		wire.SetCookie(c.pending, c.cookie)
		c.send(c.pending)
	}
}

func (c *client) ask(ctrl wire.Control, b []byte) {
	c.acked, c.shown = false, ""
	c.pending, c.ctrl, c.tries, c.since = b, ctrl, 0, len(c.w.judge.shown)
	c.number++
	c.try(c.number)
}

// try sends the pending request, and again later. After many times it says hello again, as
// clients do.
func (c *client) try(number int) {
	if c.number != number || c.pending == nil || c.gone {
		return
	}
	if c.tries++; c.tries > 12 {
		if c.ctrl == wire.CtrlClientGoodbye {
			c.gone = true
			return
		}
		c.hello()
		return
	}
	if h, _ := wire.Peek(c.pending); h.Token.IsZero() {
		c.nobody = c.w.now
	}
	c.send(c.pending)
	c.w.after(300*time.Millisecond+c.w.upTo(300*time.Millisecond), false, func() []Input { c.try(number); return nil })
}

func (c *client) send(b []byte) {
	b = bytes.Clone(b)
	for range c.w.copies() {
		c.w.after(c.w.transit(), false, func() []Input { return []Input{&Packet{Peer: c.peer, Data: b}} })
	}
}

// receive takes a packet.
func (c *client) receive(b []byte) {
	var p wire.Packet
	if err := p.Decode(b); err != nil {
		c.w.t.Fatal(err)
	}
	if cookie := p.Ext.View(wire.KeyHelloCookie); cookie != nil {
		c.challenged(cookie)
		return
	}
	if p.Ctrl == wire.CtrlAck && p.Seq == c.seq {
		c.acked = true
	}
	if !c.acked && c.pending != nil && p.Ctrl != wire.CtrlAck {
		// A packet before the ACK does not answer the request: it is a late copy, or will
		// come again.
		return
	}
	if !p.Flags.Unreliable() && p.Ctrl != wire.CtrlAck {
		c.send(encode(wire.Header{Token: p.Token, Board: p.Board, Seq: p.Seq}, wire.Ack{}))
	}
	if c.gone {
		return
	}
	switch p.Ctrl {
	case wire.CtrlAck:
		if c.ctrl == wire.CtrlClientGoodbye && p.Seq == c.seq {
			c.gone = true
		}
	case wire.CtrlServerHello:
		c.greeted(&p)
	case wire.CtrlBoardUpdate:
		c.updated(&p)
	case wire.CtrlLegalMoves:
		if c.ctrl == wire.CtrlGetLegalMoves {
			c.answered()
		}
	case wire.CtrlSpectateUpdate, wire.CtrlPredictionData:
		c.saw(&p)
	case wire.CtrlError:
		if p.Token == c.token { // else a late copy for a token that the client has given up
			c.refused(p.Message.(*wire.Error))
		}
	}
}

// forgotten reports whether the client's token was offered by a process that has crashed.
func (c *client) forgotten() bool {
	return c.w.judge.tokens[c.token.Hash()] == 0 && c.w.offers[c.token].epoch != c.w.epochOf(c.token)
}

func (c *client) greeted(p *wire.Packet) {
	if c.forgotten() {
		c.token, c.nobody = wamble.Token{}, c.w.now
	}
	if !c.token.IsZero() && p.Token != c.token {
		if c.w.now.Sub(c.nobody) > 15*time.Second {
			c.w.t.Fatalf("a known token became a new player")
		}
		return // the answer of an earlier hello, which the client had given up
	}
	if c.ctrl != wire.CtrlClientHello || c.pending == nil {
		return
	}
	c.token, c.board = p.Token, p.Board
	c.fen, _ = p.Ext.Text(wire.KeyBoardFEN)
	if c.w.judge.tokens[c.token.Hash()] == 0 {
		c.shown = string(p.Message.(*wire.ServerHello).FEN)
	}
	c.answered()
}

// updated takes a BOARD_UPDATE. Late copies of earlier ones are recognized by the number of
// their reservation: it was made before the pending move was sent.
func (c *client) updated(p *wire.Packet) {
	version, ok := p.Ext.Int(wire.KeyBoardVersion)
	if _, waits := p.Ext.Int(wire.KeyWaitPlace); waits {
		c.waits(p)
		return
	}
	if ok && c.w.judge.shown[shownKey{p.Board, uint64(version)}].number <= c.since {
		return
	}
	c.board = p.Board
	c.fen, _ = p.Ext.Text(wire.KeyBoardFEN)
	c.shown = ""
	// An update without a request was pushed: the reservation had ended, maybe before the
	// move arrived.
	answers, named := p.Ext.Int(wire.KeyRequestSeq)
	if c.pending == nil && !named {
		c.answered() // the client's turn has come
	}
	if !named && !c.modern && c.ctrl == wire.CtrlPlayerMove && c.pending != nil {
		c.answered() // old clients go on with any board that they are shown
		return
	}
	if c.ctrl != wire.CtrlPlayerMove || c.pending == nil || !named || uint32(answers) != c.seq {
		return
	}
	if ok {
		c.made()
	}
	c.answered()
}

// made checks and counts the accepted move.
func (c *client) made() {
	c.move.session = c.w.judge.tokens[c.token.Hash()] // it may have begun with the move
	if c.w.judge.moves[c.move] == 0 {
		c.w.t.Fatalf("an accepted move is not durable: %+v", c.move)
	}
	// A move without its ply that is repeated after a crash may be applied to the present
	// position: the refusal was lost with the crash.
	if at := c.w.judge.from[c.move]; c.from != "" && (c.said || c.asked == c.w.epochOf(c.token)) &&
		!slices.Contains(at, c.from) {
		c.w.t.Fatalf("%+v was accepted, but made in %v instead of %s", c.move, at, c.from)
	}
	c.w.accepted++
}

// waits takes the answer to a move after which no board is free: the client is shown one when
// its turn comes, and asks if that takes long.
func (c *client) waits(p *wire.Packet) {
	if answers, _ := p.Ext.Int(wire.KeyRequestSeq); c.ctrl != wire.CtrlPlayerMove || c.pending == nil ||
		uint32(answers) != c.seq {
		return
	}
	c.made()
	c.pending = nil
	number := c.number
	c.w.after(3*time.Second, false, func() []Input {
		if !c.gone && c.number == number {
			c.hello()
		}
		return nil
	})
}

func (c *client) refused(e *wire.Error) {
	if c.pending == nil {
		return
	}
	switch e.Code {
	case wamble.UnknownPlayer:
		if !c.forgotten() {
			c.w.t.Fatalf("a known token is unknown to %v", c.ctrl)
		}
		c.token, c.nobody = wamble.Token{}, c.w.now
		c.hello()
	case wamble.UnknownBoard, wamble.Internal:
		// Nothing free, or the store is away: try again in a while.
		c.pending = nil
		number := c.number
		c.w.after(time.Second+c.w.upTo(time.Second), false, func() []Input {
			if !c.gone && c.number == number { // no request since
				c.hello()
			}
			return nil
		})
	default:
		c.answered()
	}
}

// answered goes on with the next request.
func (c *client) answered() {
	c.pending = nil
	c.w.after(c.w.upTo(400*time.Millisecond), false, func() []Input { c.act(); return nil })
}

// act does what a player does, mostly a legal move.
func (c *client) act() {
	if c.pending != nil || c.gone || c.w.quiet {
		return
	}
	rng := c.w.rng
	c.seq++
	if c.w.audience && c.actBeside() {
		return
	}
	switch n := rng.IntN(100); {
	case n < 2:
		c.ask(wire.CtrlClientGoodbye, encode(wire.Header{Token: c.token, Seq: c.seq}, wire.ClientGoodbye{}))
	case n < 4: // falls silent
		c.gone = true
	case n < 8:
		c.ask(wire.CtrlClientHello, c.helloPacket())
	case n < 16:
		c.ask(wire.CtrlGetLegalMoves, legalPacket(c.token, c.board, c.seq, uint8(rng.IntN(64))))
	case n < 20: // nonsense, or another player's board
		board := wamble.BoardID(1 + rng.IntN(150))
		c.movePending(board, "a1a1")
	default:
		g := c.w.judge.games[c.board]
		if g == nil || g.over {
			c.ask(wire.CtrlClientHello, c.helloPacket())
			return
		}
		in, from, ext := g.position, c.shown, []wire.Field(nil)
		if whole, err := chess.ParseFEN(c.fen); c.modern && err == nil {
			in, from, ext = whole, wire.ShortFEN(c.fen), []wire.Field{wire.Int(wire.KeyBoardPly, int64(whole.Ply()))}
		} else if from != "" {
			if in, err = chess.ParseFEN(from + " - - 0 1"); err != nil {
				c.w.t.Fatal(err)
			}
		}
		legal := in.LegalMoves(nil)
		if len(legal) == 0 {
			c.hello()
			return
		}
		c.movePending(c.board, legal[rng.IntN(len(legal))].String(), ext...)
		c.from = from
	}
}

func (c *client) movePending(board wamble.BoardID, uci string, ext ...wire.Field) {
	c.move, c.from = moveKey{board, c.w.judge.tokens[c.token.Hash()], uci}, ""
	c.said, c.asked = len(ext) > 0, c.w.epochOf(c.token)
	c.ask(wire.CtrlPlayerMove, movePacket(c.token, board, c.seq, uci, ext...))
}
