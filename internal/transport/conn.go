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
	First     time.Duration // time for the far end to send its first packet after the handshake; 15 s
	Write     time.Duration // time for the far end to take one Write of at most 4 KiB; 10 s
	// Ping is how long a far end with pings may be silent before it is pinged; 30 s. Clients
	// that send are not pinged.
	Ping time.Duration
	// Idle is how long a far end with pings may be silent before the connection ends; 5 min,
	// the life of a session without traffic. A far end without pings may be silent
	// unpingedIdles times as long; TCP keep-alive notices that it is gone.
	Idle time.Duration
	// Linger is how long the far end has to read the close frame that this end sends; 1 s.
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

// unpingedIdles is the factor by which Timing.Idle is longer for a far end without pings.
const unpingedIdles = 12

// Conn is a WebSocket connection after its handshake, of either role. One goroutine of the
// owner calls Next; the Conn's own goroutine does all writing, in whole frames. Send and Close
// may be called from any goroutine.
type Conn struct {
	peer   wamble.Peer
	nc     net.Conn
	timing Timing
	client bool // this end is the client: it masks its frames
	pinged bool // this end sends pings: the far end answers them even when its program reads nothing

	frames *frameReader
	json   *jsonSide // translates between JSON and packets; nil if the connection carries packets
	source *source   // the connection in the inboxes; nil for a client
	unread []byte    // packets of the current message that Next has not returned yet
	spoke  bool      // the first packet has come, or none is required: frames of any kind extend the deadline

	out      *outbox
	lastSeen atomic.Int64 // time of the last received frame, unix nanoseconds
	closing  atomic.Bool  // Close was called: the read deadline is Linger
	written  chan struct{}
	crash    error // a panic of the writer; valid when written is closed
	closeTCP sync.Once
}

// newConn starts a connection that carries packets. r holds bytes that came with the handshake.
func newConn(nc net.Conn, r *bufio.Reader, peer wamble.Peer, t Timing, client, pinged bool) *Conn {
	return startConn(nc, peer, t, client, pinged, newFrameReader(r, !client), nil)
}

// startConn starts a connection that reads its frames with f; json is nil if the connection
// carries packets.
func startConn(nc net.Conn, peer wamble.Peer, t Timing, client, pinged bool, f *frameReader, json *jsonSide) *Conn {
	c := &Conn{
		peer: peer, nc: nc, timing: t, client: client, pinged: pinged, spoke: client,
		frames: f, json: json, out: newOutbox(), written: make(chan struct{}),
	}
	now := time.Now()
	c.lastSeen.Store(now.UnixNano())
	nc.SetReadDeadline(now.Add(t.First))
	if c.spoke {
		c.extend(now)
	}
	go c.writeLoop()
	return c
}

// Peer returns the far end.
func (c *Conn) Peer() wamble.Peer { return c.peer }

// Send queues a copy of one packet without blocking. It returns net.ErrClosed after the end of
// the connection, and ErrSlowReader if the far end does not read; the connection then ends.
func (c *Conn) Send(packet []byte) error {
	limit := wire.MaxPacket
	if c.text() {
		limit = MaxMessage
	}
	if len(packet) == 0 || len(packet) > limit {
		return nil // too long for a far end to read
	}
	err := c.out.add(packet)
	if err == ErrSlowReader {
		c.Abort()
	}
	return err
}

// text reports whether this is the client's end of a connection that speaks JSON.
func (c *Conn) text() bool { return c.client && c.frames.data == opText }

// Close ends the connection: it writes what is queued and a close frame, and gives the far end
// Linger to answer. It does not block.
func (c *Conn) Close(code uint16, reason string) {
	c.out.end(code, reason)
	c.closing.Store(true)
	c.extend(time.Now())
}

// Abort closes the TCP connection at once, without a close frame.
func (c *Conn) Abort() {
	c.closeTCP.Do(func() { c.nc.Close() })
	c.out.end(closeNoStatus, "") // lets the writer end
}

// Next returns the next packet, which is valid until the following call. At the end it returns
// an error: a *CloseError if the connection ended by the rules of WebSocket. The owner calls
// Next until then, also after Close, and Finish afterwards.
func (c *Conn) Next() ([]byte, error) {
	for len(c.unread) == 0 {
		if err := c.nextMessage(); err != nil {
			return nil, err
		}
	}
	if c.text() {
		message := c.unread
		c.unread = nil
		return message, nil
	}
	if c.json != nil {
		if p, err := c.readObject(); p != nil || err != nil {
			return p, err
		}
		return c.Next()
	}
	n, err := wire.Size(c.unread)
	if err != nil {
		return nil, protocolError("not a packet")
	}
	p := c.unread[:n]
	c.unread = c.unread[n:]
	return p, nil
}

// nextMessage reads one message or control frame, and queues the answer to a ping. An empty
// message leaves c.rest empty.
func (c *Conn) nextMessage() error {
	op, payload, err := c.frames.next()
	if err != nil {
		return err
	}
	now := time.Now()
	c.lastSeen.Store(now.UnixNano())
	c.spoke = c.spoke || op == c.frames.data && len(payload) > 0
	if c.spoke && !c.closing.Load() {
		c.extend(now)
	}
	switch op {
	case c.frames.data:
		c.unread = payload
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

// extend moves the read deadline to Idle from now, or to Linger if Close was called, perhaps at
// the same time.
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

// Finish ends the connection after Next returned err: it echoes the far end's close frame or
// names the violation, and gives the far end Linger to read that. When it returns, the writer
// has ended.
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
	default: // the stream is broken or at its end
		c.Abort()
		<-c.written
	}
	c.closeTCP.Do(func() { c.nc.Close() })
}

// drain half-closes the connection and discards what still arrives, so that the kernel does not
// answer with a reset that overtakes the close frame.
func (c *Conn) drain(clean bool) {
	type halfCloser interface{ CloseWrite() error }
	h, ok := c.nc.(halfCloser)
	if !ok || clean || h.CloseWrite() != nil {
		return
	}
	c.nc.SetReadDeadline(time.Now().Add(c.timing.Linger))
	io.CopyN(io.Discard, c.nc, 64<<10)
}

// writeLoop does all writing. It ends after the close frame or an error; a panic ends the
// connection.
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
			if !c.pinged || now.UnixNano()-c.lastSeen.Load() < int64(c.timing.Ping) {
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

// writeLoad writes one batch: pong, packets, close frame. Each packet is a message of its own,
// because not every client splits longer messages; one Write has as many frames as fit into the
// buffer.
func (c *Conn) writeLoad(frames []byte, l *outboxBatch) error {
	kept := *l // packet shortens the slices; their memory is used again
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

// write writes whole frames. It ends the connection if the far end does not take them within
// Timing.Write.
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
