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

// Dialer holds the settings of a client. The zero value is ready.
type Dialer struct {
	// Token resumes a session. The zero token asks for a new one.
	Token wamble.Token
	// NoSession opens a connection without a hello: only Profiles and Profile
	// may be asked.
	NoSession bool
	// Bot says that the player is a program. It is ranked among programs, and a server may
	// refuse it: then the error is a *wamble.Denied.
	Bot bool
	// Wish says whether the player wants a board.
	Wish Wish
	// LegacyLogin lets Login sign as clients of the original do, for a server of
	// the original. The signature names no server: whoever gets it can hand it on
	// to another server, and be the player there.
	LegacyLogin bool
	// TLS is used for wss:// addresses; nil is the default configuration.
	TLS *tls.Config
	// Repeat is the time before a request is first repeated over UDP while the
	// round trip is not known; 0 means 500 ms, which old servers expect.
	Repeat time.Duration
	// FirstSeq numbers the first request; 0 means a random number. A program that
	// is started again with the same token must not use the same numbers: it
	// would take a late answer to the earlier program for one of its own.
	FirstSeq uint32
	// MinBackoff and MaxBackoff bound the pauses between attempts to
	// reconnect, which double and have a random jitter; 0 means 250 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
}

// Wish is what a player wants of a server that greets him.
type Wish int64

// The wishes. Servers of the original know only the first.
const (
	WantBoard Wish = 0 // a board; without one there is no session either
	MayWait   Wish = 1 // a board; while none is free the session has none, and waits
	NoBoard   Wish = 2 // only to watch and to read
)

// Client is one session with a server. Its methods may be called by several
// goroutines; requests are sent one after the other. When the connection
// breaks, the client reconnects by itself and resumes its session; requests
// wait meanwhile, as long as their contexts allow.
type Client struct {
	dialer Dialer
	url    *url.URL
	epoch  time.Time
	calls  chan *call
	events *queue[Event]

	quit  context.CancelFunc // asks run to end
	ended chan struct{}      // closed when run has ended

	ids atomic.Int64 // numbers of requests that carry one

	mu      sync.Mutex // guards what follows
	session Session
	watch   *Watch
	hosts   []string  // of the machines that serve the session, as the server said last
	turn    int       // which of them is tried; 0: the one that was dialed
	home    string    // the one that serves the session, and another one is tried; "": none is known
	moves   time.Time // when the client may go there
	err     error     // why the client ended
}

// Session is what the server has said about the session.
type Session struct {
	Token wamble.Token
	Board Board // the one to play on; its ID is 0 when there is none
	// Caps are what the session may do, from the last answer that named them.
	Caps wire.SessionCaps
	// MaxPending is how many predictions may be open at a time; 0 when the
	// server did not say.
	MaxPending int
	// PredictionSource is "tree" or "moves", or empty.
	PredictionSource string
}

// Dial connects to a server and asks for a new session. The address is
// udp://host:port, ws://host:port/path or wss://host:port/path. The context
// bounds only the dialling.
func Dial(ctx context.Context, address string) (*Client, error) {
	return new(Dialer).Dial(ctx, address)
}

// Dial connects to a server and asks for the session of d.Token, or for a new
// one. When the server does not know the token it gives a new one: compare
// Client.Token. A refusal is a *wamble.Denied; ErrTimeout says that nobody
// answered.
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

// Token names the session; keep it to resume later. It is a secret.
func (c *Client) Token() wamble.Token { return c.Session().Token }

// Board is the board that the player holds, as the server said last.
func (c *Client) Board() Board { return c.Session().Board }

// Session is what the server has said about the session so far.
func (c *Client) Session() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Close ends the client and the connection. The session lives on at the
// server, to be resumed with its token; Goodbye ends it. Requests that wait
// return ErrClosed.
func (c *Client) Close() error {
	c.stop(ErrClosed)
	<-c.ended
	return nil
}

// stop asks the client to end for a reason; the first one counts.
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

// Goodbye ends the session at the server, then the client. The token is void
// afterwards, unless it belongs to an identity.
func (c *Client) Goodbye(ctx context.Context) error {
	err := tell(ctx, c, wire.ClientGoodbye{})
	if errors.Is(err, ErrClosed) {
		return err
	}
	c.Close()
	return err
}

// Leave gives the board back, so that others need not wait for it, then ends the
// client. The session stays, to be resumed with its token.
func (c *Client) Leave(ctx context.Context) error {
	k, err := newCall(ctx, wire.Header{}, wire.ClientGoodbye{}, wire.Int(wire.KeyGoodbyeReturns, 1))
	if err == nil {
		err = c.do(k)
	}
	c.Close()
	return err
}

// Hello asks for the session again: for its present board, or for a new
// session when the old one has ended at the server (wamble.UnknownPlayer).
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

// hello is the call that asks for the session. Of the capabilities it asks for
// profile state only: then the bit of the other one, 0x01, is free to mean
// that the board plays Chess960.
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

// adopt makes what a packet with a board says the state of the session.
func (c *Client) adopt(p *wire.Packet, fen wire.Text, token wamble.Token) Board {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session.Token, c.session.Board = token, boardOf(p, fen)
	c.session.learn(p)
	return c.session.Board
}

// adoptCaps does the same for a packet without a board.
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

// nextID numbers a request that carries a number of the client's choice.
func (c *Client) nextID() int64 { return c.ids.Add(1) }
