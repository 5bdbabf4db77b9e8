package loader

import (
	"math/rand/v2"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/wire"
)

// load is a run in progress. It is used by one goroutine.
type load struct {
	options Options
	sockets sockets
	clients []client
	now     time.Duration // since the run began
	random  *rand.Rand
	packet  wire.Packet
	report  *Report
	phase   phase
	greeted int           // clients that have had a session so far
	heard   time.Duration // time of the last answer
	scratch struct {
		ack   [wire.HeaderSize]byte
		fen   [128]byte
		moves [chess.MaxMoves]chess.Move
	}
	second  Latency
	counted uint64 // Report.Answered at the end of the last second
}

// phase is the phase of a run.
type phase uint8

const (
	gathering phase = iota // until every client has a session
	measuring              // for Options.Duration
	draining               // no new requests
)

// maxSends is how often a request is sent before the client says hello instead.
const maxSends = 8

// encode makes a message the client's current request.
func encode[M wire.Message](l *load, c *client, h wire.Header, m M, ext ...wire.Field) {
	c.seq++
	h.Seq = c.seq
	r := &c.request
	b, err := wire.Append(r.bytes[:0], h, m, ext...)
	if err != nil || len(b) > len(r.bytes) {
		panic("loader: a request that cannot be encoded") // all messages are built in this package and fit
	}
	r.size = uint8(len(b))
}

// ask sends the current request for the first time.
func (l *load) ask(c *client, st stage) {
	r := &c.request
	r.acked, r.sends = false, 1
	r.first, r.due = l.now, l.now+l.options.Wait
	c.stage = st
	l.sockets.send(c.number, r.bytes[:r.size])
}

// rest waits before the client says hello again; with wait 0 it stays idle.
func (l *load) rest(c *client, wait time.Duration) {
	c.request.due = 0
	if wait > 0 {
		c.request.due = l.now + wait
	}
	c.stage = resting
}

// hello sends a hello with the client's token, if it has one, and with a field that shows that the client reads
// all fields of an answer.
func (l *load) hello(c *client) {
	encode(l, c, wire.Header{Token: c.token}, wire.ClientHello{}, wire.Int(wire.KeyHelloWithoutBoard, 0), helloPadding)
	l.ask(c, greeting)
}

// next sends the next request of the client's mode and role, or lets it rest.
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

// another returns the client's next address: all addresses whose numbers differ by a multiple
// of len(l.clients) belong to the same client.
func (l *load) another(number uint32) uint32 {
	n := uint32(len(l.clients))
	return (number + n) % (l.sockets.addresses() / n * n)
}

// move sends the unresolved move, or a new one.
func (l *load) move(c *client) {
	p := &c.pending
	if !p.open {
		moves := c.holds.position.LegalMoves(l.scratch.moves[:0])
		if len(moves) == 0 { // no board to play on: ask the server with a hello
			l.rest(c, l.options.Wait)
			return
		}
		*p = pending{open: true, first: l.now, entry: entry{
			board: c.holds.board, player: c.player, move: moves[l.random.IntN(len(moves))],
		}}
		if c.holds.whole {
			p.entry.ply = uint16(c.holds.position.Ply() + 1)
		}
	}
	var text [8]byte
	uci, _ := wire.MakeUCI(p.entry.move.AppendUCI(text[:0]))
	encode(l, c, wire.Header{Token: c.token, Board: p.entry.board}, wire.PlayerMove{UCI: uci})
	l.ask(c, asking)
}

// legal requests the legal moves of a piece that has some.
func (l *load) legal(c *client) {
	square := uint8(0)
	if moves := c.holds.position.LegalMoves(l.scratch.moves[:0]); len(moves) > 0 {
		square = uint8(moves[l.random.IntN(len(moves))].From())
	}
	encode(l, c, wire.Header{Token: c.token, Board: c.holds.board}, wire.GetLegalMoves{Square: square})
	l.ask(c, asking)
}
