package mesh

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
)

// readBuffer is the size of reads, and about that of writes, in bytes.
const readBuffer = 64 << 10

// conn is an authenticated connection to another node. One goroutine reads, one writes.
type conn struct {
	m             *Mesh
	node          *node
	nc            net.Conn
	dialled       bool    // by this node
	instance      [8]byte // of the process at the other end
	records       recordReader
	sealer        *sealer
	box           *outbox
	requests      pendingRequests
	subscriptions subscriptions
	frames        []Frame     // buffer of the reader
	heard         atomic.Bool // the other end has sent a record
	over          sync.Once
	done          chan struct{} // closed when the connection has ended
}

func newConn(m *Mesh, nc net.Conn, h hello, k secrets, dialled bool) *conn {
	return &conn{
		m: m, nc: nc, dialled: dialled, instance: h.instance, sealer: k.out, box: newOutbox(),
		done:    make(chan struct{}),
		records: recordReader{from: bufio.NewReaderSize(nc, readBuffer), sealer: k.in},
		requests: pendingRequests{waiting: map[uint64]chan<- answer{},
			busy: make(chan struct{}, maxPendingRequests)},
		subscriptions: subscriptions{names: map[string]struct{}{}},
	}
}

// end ends the connection, without waiting for the other end.
func (c *conn) end() {
	c.over.Do(func() {
		close(c.done)
		c.nc.Close()
		c.box.end()
		c.requests.end()
	})
}

// send queues a frame, and reports whether it did. If there is no room and the frame must
// not be lost, it ends the connection.
func (c *conn) send(f *Frame) bool {
	err := c.box.add(f)
	if err == errSlowReader {
		c.m.counts.slowReaders.Add(1)
		c.end()
	}
	return err == nil
}

// read reads records and handles their frames, until the connection ends.
func (c *conn) read() error {
	defer c.end()
	var told time.Time // when the deadline was last set
	for {
		if now := time.Now(); now.Sub(told) > c.m.timing.silence/4 {
			told = now
			c.nc.SetReadDeadline(now.Add(c.m.timing.silence))
		}
		frames, err := c.records.next()
		if err == nil {
			c.heard.Store(true)
			err = c.dispatch(frames)
		}
		if err != nil {
			return err
		}
	}
}

// dispatch handles the frames of one record: subscriptions, requests and answers itself, all
// others by Options.Receive.
func (c *conn) dispatch(frames []byte) error {
	c.frames = c.frames[:0]
	for len(frames) > 0 {
		one, rest, err := next(frames)
		if err != nil {
			return err
		}
		frames = rest
		var f Frame
		known, err := f.Decode(one)
		if err != nil {
			return err
		}
		if !known {
			c.m.counts.unknown.Add(1)
			continue
		}
		switch f.Kind {
		case KindSubscribe, KindUnsubscribe:
			if err := c.subscribe(&f); err != nil {
				return err
			}
		case KindRequest:
			c.answer(&f)
		case KindAnswer, KindRefusal:
			c.requests.answer(&f)
		default:
			f.Client.Node = c.node.number
			c.frames = append(c.frames, f)
		}
	}
	if len(c.frames) > 0 {
		c.m.counts.received.Add(uint64(len(c.frames)))
		c.m.o.Receive(c.node.number, c.frames)
	}
	return nil
}

// write writes the queued frames, and a keep-alive if there are none for a while, until the
// connection ends.
func (c *conn) write() error {
	defer c.end()
	beat := time.NewTicker(c.m.timing.beat)
	defer beat.Stop()
	var frames, sealed []byte
	idle := false // nothing was written since the last tick of beat
	for {
		select {
		case <-c.box.ready:
			var ended bool
			if frames, ended = c.box.take(frames); ended {
				return nil
			}
			idle = false
		case <-beat.C:
			if !idle {
				idle = true
				continue
			}
			frames = frames[:0]
		}
		var err error
		if sealed, err = c.writeAll(sealed, frames); err != nil {
			return err
		}
	}
}

// writeAll writes frames as records, or an empty record if there are none.
func (c *conn) writeAll(sealed, frames []byte) ([]byte, error) {
	for {
		sealed = sealed[:0]
		for len(sealed) < readBuffer {
			record, rest := cut(frames)
			sealed, frames = c.sealer.seal(sealed, record), rest
			if len(frames) == 0 {
				break
			}
		}
		c.nc.SetWriteDeadline(time.Now().Add(c.m.timing.silence))
		if _, err := c.nc.Write(sealed); err != nil || len(frames) == 0 {
			return sealed, err
		}
	}
}

// cut splits off the frames of the next record, at most fullRecord bytes or one frame.
func cut(frames []byte) (record, rest []byte) {
	rest = frames
	for len(rest) > 0 {
		one, after, err := next(rest)
		if err != nil {
			panic(err) // the frames are this node's own
		}
		if n := len(frames) - len(rest); n > 0 && n+len(one) > fullRecord {
			break
		}
		rest = after
	}
	return frames[:len(frames)-len(rest)], rest
}

// run reads and writes until the connection ends, and returns why.
func (c *conn) run() error {
	written := make(chan error, 1)
	go func() {
		written <- guard.Call("the writer of a connection between nodes", c.write)
	}()
	err := guard.Call("the reader of a connection between nodes", c.read)
	c.end()
	if wrote := <-written; wrote != nil {
		err = wrote
	}
	return err
}
