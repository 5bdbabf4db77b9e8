package transport

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/wire"
)

// Timing bounds how long a WebSocket connection may take. Zero fields mean the
// defaults.
type Timing struct {
	Handshake time.Duration // to open a connection; 5 s
	First     time.Duration // to send the first packet to us after the handshake; 15 s
	Write     time.Duration // to take one Write of at most 4 KiB from us; 10 s
	// Ping is how long a far end that is pinged may be silent before it is asked
	// for a sign of life; 30 s. Clients that talk are never asked.
	Ping time.Duration
	// Idle is how long a far end that is pinged may be silent at all; 5 min, the
	// life of a session without traffic. TCP keep-alive watches over the others,
	// which may be silent for unpingedIdles times as long.
	Idle time.Duration
	// Linger is how long a connection that we end may take to hear it; 1 s.
	Linger time.Duration
}

func (t Timing) withDefaults() Timing {
	def(&t.Handshake, 5*time.Second)
	def(&t.First, 15*time.Second)
	def(&t.Write, 10*time.Second)
	def(&t.Ping, 30*time.Second)
	def(&t.Idle, 5*time.Minute)
	def(&t.Linger, time.Second)
	return t
}

// unpingedIdles is how much longer a far end may be silent that is not asked.
const unpingedIdles = 12

// Conn is a WebSocket connection after its handshake, of either role. One
// goroutine of the owner reads; one goroutine of its own does all writing, in whole
// frames; Send and Close may be called by anybody.
type Conn struct {
	peer   wamble.Peer
	nc     net.Conn
	timing Timing
	client bool // masks what it sends
	pinged bool // the far end answers pings without being read

	frames *frameReader
	json   *jsonSide // the far end speaks JSON; nil: packets
	source *source   // as the inboxes know it; nil: it is a client
	rest   []byte    // packets of the message in hand that are not returned yet
	spoke  bool      // a packet has come, or none is waited for: frames of any kind keep the connection alive

	out      *outbox
	heard    atomic.Int64 // time of the last frame, unix nanoseconds
	closing  atomic.Bool  // Close was called: silence is no longer waited for
	written  chan struct{}
	crash    error // a panic of the writer; good when written is closed
	closeTCP sync.Once
}

// newConn starts a connection. Bytes that came with the handshake are in r.
func newConn(nc net.Conn, r *bufio.Reader, peer wamble.Peer, t Timing, client, pinged bool) *Conn {
	return startConn(nc, peer, t, client, pinged, newFrameReader(r, !client), nil)
}

// startConn starts a connection whose frames are read by f; json is nil if it speaks
// packets.
func startConn(nc net.Conn, peer wamble.Peer, t Timing, client, pinged bool, f *frameReader, json *jsonSide) *Conn {
	c := &Conn{
		peer: peer, nc: nc, timing: t, client: client, pinged: pinged, spoke: client,
		frames: f, json: json, out: newOutbox(), written: make(chan struct{}),
	}
	now := time.Now()
	c.heard.Store(now.UnixNano())
	nc.SetReadDeadline(now.Add(t.First))
	if c.spoke {
		c.extend(now)
	}
	go c.writeLoop()
	return c
}

// Peer is the far end.
func (c *Conn) Peer() wamble.Peer { return c.peer }

// Send queues one packet; the bytes are copied. It never waits. After the end
// it returns net.ErrClosed; ErrBehind means that the far end does not read and
// the connection ends now.
func (c *Conn) Send(packet []byte) error {
	limit := wire.MaxPacket
	if c.text() {
		limit = MaxMessage
	}
	if len(packet) == 0 || len(packet) > limit {
		return nil // nothing that a far end could read
	}
	err := c.out.add(packet)
	if err == ErrBehind {
		c.Abort()
	}
	return err
}

// text reports whether this is the client's end of a connection that speaks JSON.
func (c *Conn) text() bool { return c.client && c.frames.data == opText }

// Close ends the connection politely: what is queued is written, then a close
// frame, then the far end has a moment to answer. It does not wait.
func (c *Conn) Close(code uint16, reason string) {
	c.out.end(code, reason)
	c.closing.Store(true)
	c.extend(time.Now())
}

// Abort ends the connection at once and says nothing.
func (c *Conn) Abort() {
	c.closeTCP.Do(func() { c.nc.Close() })
	c.out.end(closeNoStatus, "") // lets the writer end
}

// Next returns the next packet, which is valid until the following call. At
// the end it returns an error: a *CloseError when the connection was closed by
// the rules. The owner calls Next until then, also after Close, and Finish
// afterwards.
func (c *Conn) Next() ([]byte, error) {
	for len(c.rest) == 0 {
		if err := c.nextMessage(); err != nil {
			return nil, err
		}
	}
	if c.text() {
		message := c.rest
		c.rest = nil
		return message, nil
	}
	if c.json != nil {
		if p, err := c.readObject(); p != nil || err != nil {
			return p, err
		}
		return c.Next()
	}
	n, err := wire.Size(c.rest)
	if err != nil {
		return nil, protocolError("not a packet")
	}
	p := c.rest[:n]
	c.rest = c.rest[n:]
	return p, nil
}

// nextMessage reads one frame or message and answers it if it is a control
// frame. An empty message is none.
func (c *Conn) nextMessage() error {
	op, payload, err := c.frames.next()
	if err != nil {
		return err
	}
	now := time.Now()
	c.heard.Store(now.UnixNano())
	c.spoke = c.spoke || op == c.frames.data && len(payload) > 0
	if c.spoke && !c.closing.Load() {
		c.extend(now)
	}
	switch op {
	case c.frames.data:
		c.rest = payload
	case opPing:
		c.out.addPong(payload)
	case opClose:
		code, reason, err := parseClose(payload)
		if err != nil {
			return err
		}
		return &CloseError{Code: code, Reason: reason, Remote: true}
	}
	return nil
}

// extend lets the far end be silent for another while. Close may run at the
// same time; its shorter time wins.
func (c *Conn) extend(now time.Time) {
	idle := c.timing.Idle
	if !c.pinged {
		idle *= unpingedIdles
	}
	c.nc.SetReadDeadline(now.Add(idle))
	if c.closing.Load() {
		c.nc.SetReadDeadline(now.Add(c.timing.Linger))
	}
}

// Finish ends the connection after Next returned err: a close is echoed, a
// violation is named, and the far end has a moment to hear it before the
// connection is gone. It waits for the writer, so that afterwards nothing of
// the connection is left.
func (c *Conn) Finish(err error) {
	var closed *CloseError
	switch {
	case errors.As(err, &closed):
		reason := closed.Reason
		if closed.Code == closeNoStatus {
			reason = ""
		}
		c.out.end(closed.Code, reason)
		<-c.written
		c.drain(closed.Remote)
	default: // the stream is broken or ended: nobody listens
		c.Abort()
		<-c.written
	}
	c.closeTCP.Do(func() { c.nc.Close() })
}

// drain half-closes the connection and reads what still comes, so that the
// kernel does not answer it with a reset that would overtake our close frame.
func (c *Conn) drain(clean bool) {
	type halfCloser interface{ CloseWrite() error }
	h, ok := c.nc.(halfCloser)
	if !ok || clean || h.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(c.timing.Linger))
	io.CopyN(io.Discard, c.nc, 64<<10)
}

// writeLoop is the only writer. It ends after the close frame or an error. Its
// panic ends the connection.
func (c *Conn) writeLoop() {
	defer func() {
		if v := recover(); v != nil {
			c.crash = guard.New("the writer of a connection", v)
			c.Abort()
		}
		close(c.written)
	}()
	pings := time.NewTicker(c.timing.Ping)
	defer pings.Stop()
	var l outboxBatch
	frames := make([]byte, 0, maxWrite)
	for {
		select {
		case <-c.out.ready:
		case now := <-pings.C:
			if !c.pinged || now.UnixNano()-c.heard.Load() < int64(c.timing.Ping) {
				continue
			}
			if c.write(c.appendFrame(frames, opPing, nil)) != nil {
				return
			}
			continue
		}
		c.out.take(&l)
		if c.writeLoad(frames, &l) != nil || l.ending {
			return
		}
	}
}

// writeLoad writes what was taken: pong, packets, close frame. A message is one
// packet, because not every client splits longer ones; a Write is as many frames as
// fit into the buffer.
func (c *Conn) writeLoad(frames []byte, l *outboxBatch) error {
	kept := *l // packet shortens the slices; the memory is used again
	defer func() { l.packets, l.sizes = kept.packets, kept.sizes }()
	if l.hasPong {
		frames = c.appendFrame(frames, opPong, l.pong)
	}
	for len(l.sizes) > 0 {
		message := l.packet()
		if c.json != nil {
			if message = c.json.object(message); message == nil {
				continue
			}
		}
		if cap(frames)-len(frames) < maxFrameHead+len(message) {
			if err := c.write(frames); err != nil {
				return err
			}
			frames = frames[:0]
		}
		frames = c.appendFrame(frames, c.frames.data, message)
	}
	if l.ending {
		frames = c.appendFrame(frames, opClose, closePayload(l.code, l.reason))
	}
	return c.write(frames)
}

const (
	maxFrameHead = 14      // longest head of a frame in bytes
	maxWrite     = 4 << 10 // bytes of one Write
)

// appendFrame appends a frame, masked if this is the client's end.
func (c *Conn) appendFrame(dst []byte, op opcode, payload []byte) []byte {
	if !c.client {
		return appendFrame(dst, op, payload, nil)
	}
	var key maskKey
	rand.Read(key[:])
	return appendFrame(dst, op, payload, &key)
}

// write writes whole frames. A far end that does not take them in time, or is gone,
// loses the connection.
func (c *Conn) write(frames []byte) error {
	for len(frames) > 0 {
		n := min(len(frames), maxWrite)
		c.nc.SetWriteDeadline(time.Now().Add(c.timing.Write))
		if _, err := c.nc.Write(frames[:n]); err != nil {
			c.out.end(closeNoStatus, "")
			c.closeTCP.Do(func() { c.nc.Close() })
			return err
		}
		frames = frames[n:]
	}
	return nil
}
