package link

import (
	"errors"
	"time"

	"wamble"
	"wamble/wire"
)

// ErrBusy is returned by Client.Send when as many requests wait for ACKs as
// ClientConfig.MaxOpen allows.
var ErrBusy = errors.New("too many packets wait for their ACK")

// ClientConfig configures a Client. The zero value suits UDP.
type ClientConfig struct {
	// Server is passed to the Sink with every packet. Over a stream (Server.Route ≠ 0) nothing
	// is sent twice; a missing ACK is still reported as lost.
	Server wamble.Peer
	// FirstSeq is the sequence number of the first packet; 0 means 1, as the original's UDP
	// client begins. Choose it at random if a token outlives the process: otherwise two runs of
	// a program in quick succession use the same numbers, and a server cannot tell copies of
	// the first run's packets from the second's.
	FirstSeq uint32
	// Sends is how often a request is sent before it is given up; 0 means 6.
	Sends int
	// FirstWait is the time before the first repetition while the round-trip time is unknown; 0
	// means 500 ms, which old servers expect.
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
// What Due and Reset report as lost may have been executed or not; what was Acked has been,
// once. Match an answer, which need not name its request, by control code and order, and set a
// deadline of your own for it: the answer of an acknowledged request may still be lost for good
// (a server sends it 3 times).
//
// SERVER_HELLO without Greeted answers a copy of a hello that was answered
// before, perhaps with another token: ignore it.
//
// A hello with wire.NoCookie is sent again with a cookie if the server requires one. That costs
// one round trip and proves the address to the server at once.
//
// After connecting a new socket call Reset, then send CLIENT_HELLO with the token. Sequence
// numbers continue across Reset, so that servers which take a reconnected client for the
// earlier connection still answer the hello.
type Client struct {
	cfg     ClientConfig
	backoff backoff
	sends   int           // least number of sends before a request is given up
	last    time.Duration // least time before that
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
	cookie  []byte // issued by the server for this address; nil if it has issued none
	waiting bool   // no SERVER_HELLO has answered the hello yet
	stats   ClientStats
}

// asked is a request without ACK.
type asked struct {
	k       *packet
	seq     uint32
	sends   int
	cookies int // how many cookies the server has issued for this hello
	first   time.Duration
	due     time.Duration
}

// ClientStats counts what a Client has done.
type ClientStats struct {
	Sent       uint64 // requests, first copies
	Repeated   uint64 // further copies of requests
	Lost       uint64 // requests given up
	Arrived    uint64 // new packets from the server; an answer in fragments counts once
	Duplicates uint64 // packets from the server seen before
	Malformed  uint64 // packets that do not parse
	Strays     uint64 // ACKs that match no request
}

// EventKind says what a received packet means to a Client.
type EventKind uint8

const (
	// Ignored: malformed, or an ACK without a request that waits for it.
	Ignored EventKind = iota
	// Acked: the server has executed request Seq.
	Acked
	// Arrived: Packet is new.
	Arrived
	// Repeated: the packet was seen before, and acknowledged again.
	Repeated
	// Partial: one chunk of an incomplete answer.
	Partial
)

// Event is the result of Client.Receive.
type Event struct {
	Kind EventKind
	Seq  uint32
	// Packet is set with Arrived. It is valid until the next Receive; its byte slices are views
	// into the received bytes.
	Packet *wire.Packet
	// Greeted is set with Arrived if the packet is the first SERVER_HELLO since a CLIENT_HELLO
	// was sent, whose number is Hello. That request counts as Acked, even without an ACK.
	Greeted bool
	Hello   uint32
}

// NewClient returns a Client.
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

// def sets *v to its default if it is not positive.
func def[T int | uint32 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Stats returns the counters.
func (c *Client) Stats() ClientStats { return c.stats }

// Open returns how many requests wait for their ACK.
func (c *Client) Open() int { return len(c.open) }

// Stamp writes the server's cookie into a hello that has room for it (wire.NoCookie). Send does
// so too.
func (c *Client) Stamp(request []byte) {
	if c.cookie != nil && wire.Control(request[0]) == wire.CtrlClientHello {
		wire.SetCookie(request, c.cookie)
	}
}

// Send sends an encoded request under the next sequence number, which it writes into the packet
// and returns. The request is reliable unless its flags have wire.FlagUnreliable. Send returns
// ErrBusy when MaxOpen requests wait for ACKs.
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
			due: now + c.backoff.after(&c.rtt, 1),
		})
	}
	return seq, nil
}

func (c *Client) tick(now time.Duration) time.Duration {
	c.now = max(c.now, now)
	return c.now
}

// Hurry makes Due give up early, because another server can be asked: after the given number of
// sends, or half as many if the server is far away. Until then requests are repeated at an even
// pace, because the server may itself be waiting for the takeover of another one. With sends 0
// the settings of ClientConfig apply again.
func (c *Client) Hurry(sends int) {
	c.sends, c.last = c.cfg.Sends, 0
	c.backoff = backoff{first: c.cfg.FirstWait, floor: floor, ceiling: 4 * time.Second}
	if sends > 0 {
		c.sends, c.last = min(c.sends, (sends+1)/2), time.Duration(sends)*floor
		c.backoff = backoff{first: floor, floor: floor, ceiling: time.Second, even: true}
	}
}

// floor is the shortest wait for an ACK.
const floor = 200 * time.Millisecond

// Next returns the time at which Due has work, and false if no request waits for an ACK.
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

// Due repeats the requests whose ACK is late, and appends to lost the sequence numbers of those
// that it gives up.
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
			a.due = now + c.backoff.after(&c.rtt, a.sends)
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

// Reset prepares for a new connection: it appends the requests that wait for an ACK to lost and
// drops them, and clears incomplete transfers, the duplicate filter, the round-trip time and
// the cookie.
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
