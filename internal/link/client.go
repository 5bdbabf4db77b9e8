package link

import (
	"errors"
	"time"

	"wamble"
	"wamble/wire"
)

// ErrBusy is returned when a Client already waits for as many ACKs as it may,
// and when a Server has no room for one more fragmented packet.
var ErrBusy = errors.New("too many packets wait for their ACK")

// ClientConfig is what a Client must know. The zero value suits UDP.
type ClientConfig struct {
	// Server is handed to the Sink with every packet. Over a stream
	// (Server.Route ≠ 0) nothing is sent twice, and only a missing ACK is told.
	Server wamble.Peer
	// FirstSeq is the sequence number of the first packet; 0 means 1, as the
	// original's UDP client begins. Choose it at random when a token outlives the
	// process: else two runs of a program, one right after the other, count the
	// same numbers, and no server can tell copies of the first from the second.
	FirstSeq uint32
	// Sends is how often a request is sent before it is given up; 0 means 6.
	Sends int
	// FirstWait is the time before the first repetition while no round trip is
	// known; 0 means 500 ms, which old servers expect.
	FirstWait time.Duration
	// MaxOpen bounds the requests that wait for an ACK; 0 means 64.
	MaxOpen int
	// MaxTransfer bounds the bytes of an answer in fragments; 0 means 1 MiB.
	MaxTransfer int
}

// Client is the client's end of one connection: it numbers and repeats
// requests, acknowledges what the server sends, filters duplicates and joins
// fragments.
//
// Drive it from one goroutine with a socket and a timer:
//
//	c := link.NewClient(link.ClientConfig{})
//	seq, err := c.Send(now, out, packet) // of wire.Append
//	for {
//		write out to the socket, out.Reset()
//		wait for a packet, until c.Next()
//		packet: switch e := c.Receive(now, b, out); e.Kind {
//			case link.Acked:   e.Seq was executed, its answer is here or on its way
//			case link.Arrived: e.Packet is new: an answer, or a push;
//			                   e.Greeted: take its token
//			default:           nothing to do
//		}
//		timer:  lost = c.Due(now, out, lost[:0])  // each was given up
//	}
//
// What Due and Reset report as lost may have been executed or not; what was
// Acked has been, once. An answer does not name its request (the protocol has no
// such field): match it by control code and order, and set a deadline of your
// own for it, because an acknowledged request's answer may still be lost for
// good (a server repeats it 3 times).
//
// SERVER_HELLO without Greeted answers a copy of a hello that was answered
// before, perhaps with another token: ignore it.
//
// A hello with wire.NoCookie is sent again with a cookie when the server asks for
// one: that costs one round trip, and the server believes the address at once.
//
// After a new socket is connected call Reset, then say CLIENT_HELLO with the
// token. Sequence numbers go on across Reset, so that servers which confuse a
// reconnected client with its former self still answer the hello.
type Client struct {
	cfg     ClientConfig
	pace    pace
	sends   int           // how often a request is sent at least before it is given up
	last    time.Duration // how long it waits at least before that
	now     time.Duration
	seq     uint32
	open    []asked
	pool    pool
	rtt     rtt
	recent  recent
	packet  wire.Packet
	join    wire.Reassembler
	scratch []byte
	hello   uint32 // sequence number of the last CLIENT_HELLO
	cookie  []byte // that the server gave to this address; nil: none
	waiting bool   // its SERVER_HELLO has not come yet
	stats   ClientStats
}

// asked is a request without ACK.
type asked struct {
	k       *packet
	seq     uint32
	sends   int
	cookies int // that the server has asked for, of a hello
	first   time.Duration
	due     time.Duration
}

// ClientStats counts what a Client has done.
type ClientStats struct {
	Sent       uint64 // requests, first copies
	Repeated   uint64 // further copies of requests
	Lost       uint64 // requests given up
	Arrived    uint64 // new packets from the server, whole answers counted once
	Duplicates uint64 // packets from the server seen before
	Malformed  uint64 // packets that do not parse
	Strays     uint64 // ACKs that match no request
}

// EventKind says what a packet meant to a Client.
type EventKind uint8

const (
	// Ignored: malformed, or an ACK that nothing waits for.
	Ignored EventKind = iota
	// Acked: the server has executed request Seq.
	Acked
	// Arrived: Packet is new.
	Arrived
	// Repeated: the packet was seen before, and acknowledged again.
	Repeated
	// Partial: one chunk of an answer that is not whole yet.
	Partial
)

// Event is what Client.Receive saw.
type Event struct {
	Kind EventKind
	Seq  uint32
	// Packet is set with Arrived. It is good until the next Receive, and its
	// byte slices are views into the received bytes.
	Packet *wire.Packet
	// Greeted is set with Arrived when the packet is the first SERVER_HELLO
	// since a CLIENT_HELLO was sent, whose number is Hello. That request counts as
	// Acked, even if its ACK has not come.
	Greeted bool
	Hello   uint32
}

// NewClient returns a Client that has sent nothing yet.
func NewClient(cfg ClientConfig) *Client {
	def(&cfg.FirstSeq, 1)
	def(&cfg.Sends, 6)
	def(&cfg.FirstWait, 500*time.Millisecond)
	def(&cfg.MaxOpen, 64)
	def(&cfg.MaxTransfer, 1<<20)
	c := &Client{cfg: cfg, seq: cfg.FirstSeq, join: wire.Reassembler{Max: cfg.MaxTransfer}}
	c.Hurry(0)
	return c
}

// def replaces a value that is not set by its default.
func def[T int | uint32 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Stats returns the counters.
func (c *Client) Stats() ClientStats { return c.stats }

// Open returns how many requests wait for their ACK.
func (c *Client) Open() int { return len(c.open) }

// Stamp writes the cookie of the server into a hello that has room for it
// (wire.NoCookie). Send does so, too.
func (c *Client) Stamp(request []byte) {
	if c.cookie != nil && wire.Control(request[0]) == wire.CtrlClientHello {
		wire.SetCookie(request, c.cookie)
	}
}

// Send sends an encoded request under the next sequence number, which it writes
// into the packet and returns: reliably, unless the packet's flags say otherwise.
// It returns ErrBusy when MaxOpen requests wait.
func (c *Client) Send(now time.Duration, out Sink, request []byte) (uint32, error) {
	now = c.tick(now)
	h, err := wire.Peek(request)
	if err != nil {
		return 0, err
	}
	reliable := !h.Flags.Unreliable()
	if reliable && len(c.open) >= c.cfg.MaxOpen {
		return 0, ErrBusy
	}
	seq := c.seq
	c.seq++
	wire.SetSeq(request, seq)
	c.Stamp(request)
	out.Send(c.cfg.Server, request)
	c.stats.Sent++
	if h.Ctrl == wire.CtrlClientHello {
		c.hello, c.waiting = seq, true
	}
	if reliable {
		c.open = append(c.open, asked{
			k: c.pool.copyOf(request), seq: seq, sends: 1, first: now,
			due: now + c.pace.after(&c.rtt, 1),
		})
	}
	return seq, nil
}

func (c *Client) tick(now time.Duration) time.Duration {
	c.now = max(c.now, now)
	return c.now
}

// Hurry says that another server can be asked, so that it is better to give up early: when a
// request was sent so many times, or half as often if the server is far away. Until then it is
// sent at an even pace, because the server that gets it may be waiting for one that takes the
// place of a third. 0: there is no other server.
func (c *Client) Hurry(sends int) {
	c.sends, c.last = c.cfg.Sends, 0
	c.pace = pace{first: c.cfg.FirstWait, floor: floor, ceiling: 4 * time.Second}
	if sends > 0 {
		c.sends, c.last = min(c.sends, (sends+1)/2), time.Duration(sends)*floor
		c.pace = pace{first: floor, floor: floor, ceiling: time.Second, even: true}
	}
}

// floor is the shortest wait for an ACK.
const floor = 200 * time.Millisecond

// Next returns when Due has work, and false when nothing waits.
func (c *Client) Next() (time.Duration, bool) {
	if len(c.open) == 0 {
		return 0, false
	}
	next := c.open[0].due
	for _, a := range c.open[1:] {
		next = min(next, a.due)
	}
	return next, true
}

// Due repeats the requests whose time has come, and appends to lost the
// sequence numbers of those it gives up.
func (c *Client) Due(now time.Duration, out Sink, lost []uint32) []uint32 {
	now = c.tick(now)
	kept := c.open[:0]
	for _, a := range c.open {
		if a.due <= now {
			if a.sends >= c.sends && now-a.first >= c.last {
				lost = append(lost, a.seq)
				c.stats.Lost++
				c.pool.drop(a.k)
				continue
			}
			a.sends++
			a.due = now + c.pace.after(&c.rtt, a.sends)
			if !c.cfg.Server.Stream() {
				out.Send(c.cfg.Server, a.k.buf)
				c.stats.Repeated++
			}
		}
		kept = append(kept, a)
	}
	c.open = kept
	return lost
}

// Reset prepares for a new connection: it appends to lost the requests that
// wait for an ACK, and forgets them, half a transfer and the duplicate filter.
func (c *Client) Reset(lost []uint32) []uint32 {
	for _, a := range c.open {
		lost = append(lost, a.seq)
		c.stats.Lost++
		c.pool.drop(a.k)
	}
	c.open, c.recent, c.rtt = c.open[:0], recent{}, rtt{}
	c.join = wire.Reassembler{Max: c.cfg.MaxTransfer}
	c.waiting, c.cookie = false, nil
	return lost
}
