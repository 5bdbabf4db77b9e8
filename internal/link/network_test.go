package link

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"wamble"
	"wamble/wire"
)

// network is a seeded simulation: one server, a few clients, and datagrams between them that
// get lost, doubled, reordered and delayed.
type network struct {
	rng     *rand.Rand
	now     time.Duration
	events  eventHeap
	order   int
	server  *Endpoint
	app     *simApp
	clients []*simClient
	out     Batch
	nextIP  uint32
	trouble bool // loss, duplication and long delays are on
	// clock is added to now for the server, whose epoch may be any.
	clock time.Duration
	sent  []byte // everything the server sent, when log is set
	log   bool
	// onTurn, when set, is called before each turn.
	onTurn func()
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(v any)   { *h = append(*h, v.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	v := old[len(old)-1]
	*h = old[:len(old)-1]
	return v
}

func newNetwork(seed uint64, clients int) *network {
	n := &network{rng: rand.New(rand.NewPCG(seed, 1)), trouble: true}
	n.server = NewEndpoint(Config{SessionTimeout: time.Minute})
	n.app = &simApp{n: n, players: map[wamble.Token]bool{}, executed: map[wamble.BoardID]int{}}
	for range clients {
		c := &simClient{n: n, link: NewClient(ClientConfig{}), outcome: map[asking]string{},
			requests: map[asking]wamble.BoardID{}, answers: map[wamble.BoardID]int{}}
		c.addr = n.freshAddress()
		n.clients = append(n.clients, c)
	}
	return n
}

func (n *network) freshAddress() wamble.Peer {
	n.nextIP++
	ip := [4]byte{10, 0, 0, byte(1 + n.nextIP%200)}
	return wamble.Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(1000+n.nextIP))}
}

func (n *network) after(d time.Duration, do func()) {
	n.order++
	heap.Push(&n.events, event{n.now + d, n.order, do})
}

// carry delivers a datagram, or loses it, or delivers it twice.
func (n *network) carry(b []byte, deliver func([]byte)) {
	copies := 1
	if n.trouble {
		switch r := n.rng.IntN(100); {
		case r < 30:
			copies = 0
		case r < 45:
			copies = 2
		}
	}
	for range copies {
		d := time.Duration(5+n.rng.IntN(60)) * time.Millisecond
		if n.trouble && n.rng.IntN(10) == 0 {
			d = time.Duration(n.rng.IntN(2000)) * time.Millisecond
		}
		b := append([]byte(nil), b...)
		n.after(d, func() { deliver(b) })
	}
}

// sendAll carries what the server has put into its batch. A datagram reaches a
// client only at its present address.
func (n *network) sendAll() {
	for i := range n.out.Len() {
		to, b := n.out.At(i)
		if n.log {
			n.sent = fmt.Appendf(n.sent, "%v %v %x\n", n.now, to.Addr, b)
		}
		n.carry(b, func(b []byte) {
			for _, c := range n.clients {
				if c.addr == to {
					c.receive(b)
				}
			}
		})
	}
	n.out.Reset()
}

// run lets the simulation go on until nothing is left to do, or until end.
func (n *network) run(end time.Duration) {
	for {
		next, ok := end+1, false
		if len(n.events) > 0 {
			next, ok = n.events[0].at, true
		}
		if at, has := n.server.Next(); has && at-n.clock < next {
			next, ok = at-n.clock, true
		}
		for _, c := range n.clients {
			if at, has := c.link.Next(); has && at < next {
				next, ok = at, true
			}
		}
		if !ok || next > end {
			n.now = end
			return
		}
		n.now = max(n.now, next)
		if n.onTurn != nil {
			n.onTurn()
		}
		n.turn()
	}
}

// turn runs everything that is due now.
func (n *network) turn() {
	for len(n.events) > 0 && n.events[0].at <= n.now {
		heap.Pop(&n.events).(event).do()
	}
	if at, ok := n.server.Next(); ok && at-n.clock <= n.now {
		n.server.Due(n.now+n.clock, &n.out)
		n.sendAll()
	}
	for _, c := range n.clients {
		c.due()
	}
}

// simApp is the handler: it executes a request, and counts how often, by the board in its
// header, which identifies the request.
type simApp struct {
	n        *network
	players  map[wamble.Token]bool
	executed map[wamble.BoardID]int
	gate     uint64
	payload  [3000]byte
}

func (a *simApp) receive(from wamble.Peer, b []byte) {
	n := a.n
	r := n.server.Receive(n.now+n.clock, from, b, &n.out)
	if r.Verdict == New {
		h, granted := r.Packet.Header, r.Granted
		id := r.Request
		if n.rng.IntN(8) == 0 { // something must be loaded first
			n.after(time.Duration(n.rng.IntN(300))*time.Millisecond, func() { a.decide(id, h, granted) })
		} else {
			a.decide(id, h, granted)
		}
	}
	n.sendAll()
}

// decide executes, answers, and lets the answer wait for the journal.
func (a *simApp) decide(id Request, h wire.Header, granted wamble.Token) {
	n := a.n
	reply := wire.Header{Token: h.Token, Board: h.Board}
	if a.players[h.Token] {
		n.server.Vouch(id)
	}
	var err error
	switch h.Ctrl {
	case wire.CtrlClientHello:
		reply.Token = a.player(h.Token, granted)
		err = Answer(n.server, id, reply, wire.ServerHello{FEN: wire.Text("8/8/8/8/8/8/8/8 w")})
	case wire.CtrlPlayerMove:
		a.executed[h.Board]++
		err = Answer(n.server, id, reply, wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/8/8 b")})
	case wire.CtrlGetProfileTOS:
		a.executed[h.Board]++
		binary.BigEndian.PutUint64(a.payload[:], uint64(h.Board))
		err = Answer(n.server, id, reply, wire.ProfileTOSData{Terms: a.payload[:]})
	case wire.CtrlSpectateStop:
		a.executed[h.Board]++
		err = Answer(n.server, id, reply, wire.SpectateUpdate{})
	default:
		a.executed[h.Board]++
	}
	if err != nil {
		panic(err)
	}
	a.gate++
	durableIndex := a.gate
	n.server.Finish(id, durableIndex)
	n.after(time.Duration(n.rng.IntN(20))*time.Millisecond, func() {
		n.server.Release(n.now+n.clock, durableIndex, &n.out)
		n.sendAll()
	})
}

func (a *simApp) player(asked, granted wamble.Token) wamble.Token {
	for _, t := range []wamble.Token{asked, granted} {
		if a.players[t] {
			return t
		}
	}
	var t wamble.Token
	binary.BigEndian.PutUint64(t[:], a.n.rng.Uint64()|1)
	a.players[t] = true
	return t
}

// asking names a packet of a client.
type asking struct {
	run int
	seq uint32
}

// simClient is one user: it says hello, sends requests, changes its address during its
// sessions, and reconnects.
type simClient struct {
	n        *network
	link     *Client
	addr     wamble.Peer
	out      Batch
	token    wamble.Token
	hello    asking
	greeted  bool
	old      bool              // as the original's client: see reconnect
	run      int               // grows when its numbers restart
	outcome  map[asking]string // of each reliable packet: acked or lost, once
	requests map[asking]wamble.BoardID
	answers  map[wamble.BoardID]int
	faults   []string
}

var requestIDs = []wire.Control{wire.CtrlPlayerMove, wire.CtrlGetProfileTOS, wire.CtrlSpectateStop, wire.CtrlLogout}

func (c *simClient) flush() {
	for i := range c.out.Len() {
		_, b := c.out.At(i)
		if c.old && wire.Control(b[0]) == wire.CtrlAck {
			continue
		}
		from := c.addr
		c.n.carry(b, func(b []byte) { c.n.app.receive(from, b) })
	}
	c.out.Reset()
}

func (c *simClient) sayHello() {
	seq, err := c.link.Send(c.n.now, &c.out, encode(wire.Header{Token: c.token}, wire.ClientHello{}))
	if err != nil {
		c.faults = append(c.faults, fmt.Sprintf("hello: %v", err))
		return
	}
	c.hello, c.greeted = asking{c.run, seq}, false
	c.flush()
}

// ask sends the next request, with a board number of its own as its name.
func (c *simClient) ask(id wamble.BoardID) {
	h := wire.Header{Token: c.token, Board: id}
	var seq uint32
	var err error
	switch requestIDs[id%wamble.BoardID(len(requestIDs))] {
	case wire.CtrlPlayerMove:
		uci, _ := wire.MakeUCI("e2e4")
		seq, err = c.link.Send(c.n.now, &c.out, encode(h, wire.PlayerMove{UCI: uci}))
	case wire.CtrlGetProfileTOS:
		seq, err = c.link.Send(c.n.now, &c.out, encode(h, wire.GetProfileTOS{}))
	case wire.CtrlSpectateStop:
		seq, err = c.link.Send(c.n.now, &c.out, encode(h, wire.SpectateStop{}))
	default:
		seq, err = c.link.Send(c.n.now, &c.out, encode(h, wire.Logout{}))
	}
	if err != nil {
		c.faults = append(c.faults, fmt.Sprintf("ask: %v", err))
		return
	}
	c.requests[asking{c.run, seq}] = id
	c.flush()
}

func (c *simClient) receive(b []byte) {
	e := c.link.Receive(c.n.now, b, &c.out)
	switch e.Kind {
	case Acked:
		c.settle(e.Seq, "acked")
	case Arrived:
		if e.Packet.Ctrl == wire.CtrlServerHello {
			if e.Greeted {
				c.token, c.greeted = e.Packet.Token, true
				c.outcome[asking{c.run, e.Hello}] = "acked"
			}
		} else {
			c.answers[e.Packet.Board]++
		}
	}
	c.flush()
}

func (c *simClient) settle(seq uint32, how string) {
	key := asking{c.run, seq}
	if was, ok := c.outcome[key]; ok {
		c.faults = append(c.faults, fmt.Sprintf("request %v is %s and %s", key, was, how))
	}
	c.outcome[key] = how
}

func (c *simClient) due() {
	at, ok := c.link.Next()
	if !ok || at > c.n.now {
		return
	}
	for _, seq := range c.link.Due(c.n.now, &c.out, nil) {
		c.settle(seq, "lost")
	}
	c.flush()
}

func (c *simClient) reconnect() {
	for _, seq := range c.link.Reset(nil) {
		c.settle(seq, "lost")
	}
	c.addr = c.n.freshAddress()
	if c.old { // it also never acknowledges, and counts from 1 again
		c.run++
		c.link = NewClient(ClientConfig{})
	}
	c.sayHello()
}
