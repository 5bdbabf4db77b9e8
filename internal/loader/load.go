package loader

import (
	"math/rand/v2"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// load is a run in progress. It belongs to one goroutine.
type load struct {
	options Options
	sockets sockets
	clients []client
	now     time.Duration // since the run began
	random  *rand.Rand
	packet  wire.Packet
	report  *Report
	phase   phase
	greeted int           // clients that have had a session
	heard   time.Duration // when the last answer came
	scratch struct {
		ack   [wire.HeaderSize]byte
		fen   [128]byte
		moves [chess.MaxMoves]chess.Move
	}
	second  Latency
	counted uint64 // of the answered, in the seconds before
}

// phase is how far a run is.
type phase uint8

const (
	gathering phase = iota // until every client has a session
	measuring              // for Options.Duration
	draining               // nothing new is asked
)

// maxSends is how often a request is sent before the client says hello instead.
const maxSends = 8

// encode makes a request of a client the one under way.
func encode[M wire.Message](l *load, c *client, h wire.Header, m M) {
	c.seq++
	h.Seq = c.seq
	r := &c.request
	b, err := wire.Append(r.bytes[:0], h, m)
	if err != nil || len(b) > len(r.bytes) {
		panic("loader: a request that cannot be encoded") // all of them are made below
	}
	r.size = uint8(len(b))
}

// ask sends the request under way for the first time.
func (l *load) ask(c *client, st stage) {
	r := &c.request
	r.acked, r.sends = false, 1
	r.first, r.due = l.now, l.now+l.options.Wait
	c.stage = st
	l.sockets.send(c.number, r.bytes[:r.size])
}

// rest waits before the client says hello again; 0 is for good.
func (l *load) rest(c *client, wait time.Duration) {
	c.request.due = 0
	if wait > 0 {
		c.request.due = l.now + wait
	}
	c.stage = resting
}

// hello says who the client is, or that it is new.
func (l *load) hello(c *client) {
	encode(l, c, wire.Header{Token: c.token}, wire.ClientHello{})
	c.request.pad(helloSize)
	l.ask(c, greeting)
}

// next asks what the mode asks, or rests.
func (l *load) next(c *client) {
	if l.phase == draining && !c.pending.open {
		l.rest(c, 0)
		return
	}
	switch {
	case c.role == Watcher:
		l.watch(c)
	case c.role == Predictor:
		l.predict(c)
	case c.role == Reader:
		l.read(c)
	case l.moves(c):
		l.move(c)
	case l.options.Mode == Legal:
		l.legal(c)
	default: // Hello
		c.number = l.another(c.number)
		c.known, c.token, c.seen = false, wamble.Token{}, seen{}
		l.hello(c)
	}
}

// another is the next address of the same client: all addresses whose numbers
// differ by a multiple of len(l.clients) are its own.
func (l *load) another(number uint32) uint32 {
	n := uint32(len(l.clients))
	return (number + n) % (l.sockets.addresses() / n * n)
}

// move asks the move that is unresolved, or a new one.
func (l *load) move(c *client) {
	p := &c.pending
	if !p.open {
		moves := c.seat.position.LegalMoves(l.scratch.moves[:0])
		if len(moves) == 0 { // no board to play on: see what the server says now
			l.rest(c, l.options.Wait)
			return
		}
		*p = pending{open: true, first: l.now, entry: entry{
			board: c.seat.board, player: c.player, move: moves[l.random.IntN(len(moves))],
		}}
		if c.seat.whole {
			p.entry.ply = uint16(c.seat.position.Ply() + 1)
		}
	}
	var text [8]byte
	uci, _ := wire.MakeUCI(p.entry.move.AppendUCI(text[:0]))
	encode(l, c, wire.Header{Token: c.token, Board: p.entry.board}, wire.PlayerMove{UCI: uci})
	l.ask(c, asking)
}

// legal asks for the moves of a piece that has some.
func (l *load) legal(c *client) {
	square := uint8(0)
	if moves := c.seat.position.LegalMoves(l.scratch.moves[:0]); len(moves) > 0 {
		square = uint8(moves[l.random.IntN(len(moves))].From())
	}
	encode(l, c, wire.Header{Token: c.token, Board: c.seat.board}, wire.GetLegalMoves{Square: square})
	l.ask(c, asking)
}
