package link

import (
	"bytes"
	"time"

	"wamble/wire"
)

// Receive processes a packet from the server, writes its ACK to out if it requires one, and
// returns its meaning.
func (c *Client) Receive(now time.Duration, b []byte, out Sink) Event {
	now = c.tick(now)
	h, err := wire.Peek(b)
	if err == nil && h.Ctrl == wire.CtrlAck {
		return c.acked(now, h)
	}
	if err == nil {
		err = c.packet.Decode(b)
	}
	info, known := h.Ctrl.Info()
	if err != nil || !known || info.From != wire.FromServer {
		c.stats.Malformed++
		return Event{}
	}
	if cookie := c.packet.Ext.View(wire.KeyHelloCookie); cookie != nil && h.Ctrl == wire.CtrlError {
		c.challenged(now, cookie, out)
		return Event{}
	}
	reliable := !h.Flags.Unreliable()
	if reliable {
		c.acknowledge(h, out)
	}
	if f, ok := c.packet.Message.(*wire.Fragment); ok {
		return c.fragment(now, h, f)
	}
	// Unreliable packets are not checked for duplicates: equal ones may be distinct. Nor is
	// SERVER_HELLO, whose number is always 1, while a second hello waits for it.
	size, _ := wire.Size(b)
	awaited := h.Ctrl == wire.CtrlServerHello && c.waiting
	if reliable && c.recent.record(now, hashOf(b[:size])) && !awaited {
		c.stats.Duplicates++
		return Event{Kind: Repeated, Seq: h.Seq}
	}
	return c.arrived(h)
}

// acked ends the wait of the request that an ACK names. The tokens must match, even if both are
// zero.
func (c *Client) acked(now time.Duration, h wire.Header) Event {
	for i := range c.open {
		a := &c.open[i]
		if a.seq != h.Seq || a.k.token() != h.Token {
			continue
		}
		if a.sends == 1 {
			c.rtt.sample(now - a.first)
		}
		c.pool.drop(a.k)
		c.open = append(c.open[:i], c.open[i+1:]...)
		return Event{Kind: Acked, Seq: h.Seq}
	}
	c.stats.Strays++
	return Event{}
}

// acknowledge sends an ACK with the header fields of a packet.
func (c *Client) acknowledge(h wire.Header, out Sink) {
	c.scratch = appendAck(c.scratch[:0], h)
	out.Send(c.cfg.Server, c.scratch)
}

// fragment adds a chunk. The duplicate filter works on whole transfers, not chunks: if another
// transfer interrupted this one, its chunks are needed again.
func (c *Client) fragment(now time.Duration, h wire.Header, f *wire.Fragment) Event {
	whole := hashOfTransfer(h, f)
	if c.recent.known(now, whole) {
		c.stats.Duplicates++
		return Event{Kind: Repeated, Seq: h.Seq}
	}
	payload, err := c.join.Add(h.Ctrl, f)
	if err != nil {
		c.stats.Malformed++
		return Event{}
	}
	if payload == nil {
		return Event{Kind: Partial, Seq: h.Seq}
	}
	if c.packet.DecodePayload(h, payload) != nil {
		c.stats.Malformed++
		return Event{}
	}
	c.recent.record(now, whole)
	return c.arrived(h)
}

func (c *Client) arrived(h wire.Header) Event {
	c.stats.Arrived++
	e := Event{Kind: Arrived, Seq: h.Seq, Packet: &c.packet}
	if h.Ctrl == wire.CtrlServerHello && c.waiting {
		c.waiting, e.Greeted, e.Hello = false, true, c.hello
		c.stopHello()
	}
	return e
}

// challenged sends the waiting hello again, with the cookie that the server requires.
func (c *Client) challenged(now time.Duration, cookie []byte, out Sink) {
	if len(cookie) != cookieText || !c.waiting || bytes.Equal(cookie, c.cookie) {
		return
	}
	c.cookie = append(c.cookie[:0], cookie...)
	for i := range c.open {
		a := &c.open[i]
		// A NAT may change the address with every packet: the number of cookies is bounded.
		if a.cookies++; a.seq != c.hello || a.cookies >= c.sends || !wire.SetCookie(a.k.buf, cookie) {
			continue
		}
		if a.sends == 1 {
			c.rtt.sample(now - a.first)
		}
		a.sends++
		a.due = now + c.backoff.after(&c.rtt, 1)
		out.Send(c.cfg.Server, a.k.buf)
	}
}

// stopHello stops repeating a hello that was answered before its ACK came. A late copy could
// reach the server from another address and begin a second session there.
func (c *Client) stopHello() {
	for i, a := range c.open {
		if a.seq == c.hello {
			c.pool.drop(a.k)
			c.open = append(c.open[:i], c.open[i+1:]...)
			return
		}
	}
}
