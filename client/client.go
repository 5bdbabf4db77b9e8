package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

// Dialer has the settings of a client. The zero value is usable.
type Dialer struct {
	// Token is the session to resume. The zero token requests a new session.
	Token wamble.Token
	// NoSession opens a connection without a hello: only Profiles and Profile can be called.
	NoSession bool
	// Bot says that the player is a bot. Bots have a ranking of their own, and a server may
	// refuse them with a *wamble.Denied.
	Bot bool
	// Wish says whether the player wants a board.
	Wish Wish
	// LegacyLogin makes Login sign like clients of the original, for a server of the original.
	// The signature does not name the server: a server that receives it can use it to log in at
	// another server.
	LegacyLogin bool
	// TLS is used for wss:// addresses; nil is the default configuration.
	TLS *tls.Config
	// Repeat is the time before a request is first repeated over UDP while the round-trip time
	// is unknown; 0 means 500 ms, which old servers expect.
	Repeat time.Duration
	// FirstSeq is the sequence number of the first request; 0 means a random number. A program
	// that is restarted with the same token must not reuse the numbers: it could take a late
	// answer to the earlier run for its own.
	FirstSeq uint32
	// MinBackoff and MaxBackoff bound the pauses between attempts to reconnect, which double
	// and are randomized; 0 means 250 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
}

// Wish is what a player wants from the server's greeting.
type Wish int64

// The wishes. Servers of the original support only the first.
const (
	WantBoard Wish = 0 // a board; without one there is no session either
	MayWait   Wish = 1 // a board; if none is free, the session waits for one
	NoBoard   Wish = 2 // no board, only watching and reading
)

// Client is one session with a server. Its methods may be called from several goroutines;
// requests are sent one after another. If the connection breaks, the client reconnects and
// resumes its session; requests wait meanwhile, as long as their contexts allow.
type Client struct {
	dialer Dialer
	url    *url.URL
	epoch  time.Time
	calls  chan *call
	events *queue[Event]

	quit  context.CancelFunc // makes run end
	ended chan struct{}      // closed when run has ended

	ids atomic.Int64 // numbers of requests that carry one

	mu      sync.Mutex // guards session to err
	session Session
	watch   *Watch
	hosts   []string  // hosts of the nodes that serve the session, as last sent by the server
	turn    int       // index of the current host, from 1; 0 is the dialed one
	home    string    // host of the node that serves the session, if it is not the current one; "" if unknown
	moves   time.Time // earliest time to move to home
	err     error     // why the client ended
}

// Session is what the server has sent about the session.
type Session struct {
	Token wamble.Token
	Board Board // the player's board; its ID is 0 if they have none
	// Caps are what the session may do, from the last answer that had them.
	Caps wire.SessionCaps
	// MaxPending is how many predictions may be pending at a time; 0 if unknown.
	MaxPending int
	// PredictionSource is "tree" or "moves", or empty.
	PredictionSource string
}

// Dial connects to a server and requests a new session. The address is udp://host:port,
// ws://host:port/path or wss://host:port/path. The context bounds only Dial itself.
func Dial(ctx context.Context, address string) (*Client, error) {
	return new(Dialer).Dial(ctx, address)
}

// Dial connects to a server and requests the session of d.Token, or a new one. If the server
// does not know the token, it gives a new one: compare Client.Token. A refusal is a
// *wamble.Denied; ErrTimeout means that the server has not answered.
func (d *Dialer) Dial(ctx context.Context, address string) (*Client, error) {
	u, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	run, quit := context.WithCancel(context.Background())
	c := &Client{
		dialer: *d, url: u, epoch: time.Now(),
		calls: make(chan *call), events: newQueue[Event](maxEvents),
		quit: quit, ended: make(chan struct{}),
	}
	c.session.Token = d.Token
	if c.dialer.Repeat <= 0 {
		c.dialer.Repeat = 500 * time.Millisecond
	}
	if c.dialer.MinBackoff <= 0 {
		c.dialer.MinBackoff = 250 * time.Millisecond
	}
	if c.dialer.MaxBackoff <= 0 {
		c.dialer.MaxBackoff = 30 * time.Second
	}
	l := &loop{c: c, numbered: map[wire.Control]bool{}}
	if err := c.connect(ctx, l); err != nil {
		quit()
		return nil, err
	}
	go c.run(run, l)
	return c, nil
}

// linkTo returns the reliability state for a carrier.
func (d *Dialer) linkTo(out carrier) *link.Client {
	first := d.FirstSeq
	if first == 0 {
		first = 1 + rand.Uint32N(1<<30)
	}
	return link.NewClient(link.ClientConfig{Server: out.Peer(), FirstSeq: first, FirstWait: d.Repeat})
}

// Token returns the token of the session, to resume it later. It is a secret.
func (c *Client) Token() wamble.Token { return c.Session().Token }

// Board returns the board that the player holds, as last sent by the server.
func (c *Client) Board() Board { return c.Session().Board }

// Session returns what the server has sent about the session so far.
func (c *Client) Session() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Close ends the client and the connection. The session stays at the server, to be resumed with
// its token; Goodbye ends it. Waiting requests return ErrClosed.
func (c *Client) Close() error {
	c.stop(ErrClosed)
	<-c.ended
	return nil
}

// stop makes the client end for a reason; only the first reason counts.
func (c *Client) stop(why error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = why
	}
	c.mu.Unlock()
	c.quit()
}

func (c *Client) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Goodbye ends the session at the server, then the client. Afterwards the token is invalid,
// unless it belongs to an identity.
func (c *Client) Goodbye(ctx context.Context) error {
	err := tell(ctx, c, wire.ClientGoodbye{})
	if errors.Is(err, ErrClosed) {
		return err
	}
	c.Close()
	return err
}

// Leave gives the board back, so that other players need not wait for it, then ends the client.
// The session stays, to be resumed with its token.
func (c *Client) Leave(ctx context.Context) error {
	k, err := newCall(ctx, wire.Header{}, wire.ClientGoodbye{}, wire.Int(wire.KeyGoodbyeReturns, 1))
	if err == nil {
		err = c.do(k)
	}
	c.Close()
	return err
}

// Hello requests the session again: for its current board, or for a new session if the old one
// has ended at the server (wamble.UnknownPlayer).
func (c *Client) Hello(ctx context.Context) (Session, error) {
	k, err := c.hello(ctx)
	if err != nil {
		return Session{}, err
	}
	if err := c.do(k); err != nil {
		return Session{}, err
	}
	return c.Session(), nil
}

// hello returns the call that requests the session. Of the capabilities it requests only
// profile state: then the bit of the other one, 0x01, can mean that the board plays Chess960.
func (c *Client) hello(ctx context.Context) (*call, error) {
	fields := []wire.Field{wire.NoCookie()}
	if c.dialer.Bot {
		fields = append(fields, wire.Int(wire.KeyHelloBot, 1))
	}
	if c.dialer.Wish != WantBoard {
		fields = append(fields, wire.Int(wire.KeyHelloWithoutBoard, int64(c.dialer.Wish)))
	}
	k, err := newCall(ctx, wire.Header{Token: c.Token(), Flags: wire.CapProfileState}, wire.ClientHello{}, fields...)
	if err != nil {
		return nil, err
	}
	k.take = taking(func(p *wire.Packet, m *wire.ServerHello) bool {
		if p.Token.IsZero() {
			return false
		}
		c.adopt(p, m.FEN, p.Token)
		if hosts, ok := p.Ext.Text(wire.KeyClusterEndpoint); ok {
			c.learnHosts(hosts)
		}
		c.prefer(p)
		return true
	})
	return k, nil
}

// adopt updates the session from a packet with a board.
func (c *Client) adopt(p *wire.Packet, fen wire.Text, token wamble.Token) Board {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.Token, c.session.Board = token, boardOf(p, fen)
	c.session.learn(p)
	return c.session.Board
}

// adoptCaps updates the session from a packet without a board.
func (c *Client) adoptCaps(p *wire.Packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.learn(p)
}

// learn reads the fields that describe a session.
func (s *Session) learn(p *wire.Packet) {
	if v, ok := p.Ext.Int(wire.KeySessionCaps); ok {
		s.Caps = wire.SessionCaps(v)
	}
	if v, ok := p.Ext.Int(wire.KeyPredictionMaxPending); ok {
		s.MaxPending = int(v)
	}
	if v, ok := p.Ext.Text(wire.KeyPredictionSource); ok {
		s.PredictionSource = v
	}
}

// nextID returns a new number for a request that carries one.
func (c *Client) nextID() int64 { return c.ids.Add(1) }
