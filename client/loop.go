package client

import (
	"errors"
	"syscall"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/wire"
)

const (
	// answerWait is how long an answer may take after its ACK. Servers repeat an answer for
	// about a second.
	answerWait = 5 * time.Second
	// maxSends is how often a request is sent if its answer gets lost.
	maxSends = 3
	// copyPause is the pause between copies of a request whose answer is missing, if there are
	// other hosts: a live node reacts to each copy.
	copyPause = 200 * time.Millisecond
	// orderWait is how long an answer that came before its ACK waits for another answer: it may
	// have been a push of the same kind.
	orderWait = 50 * time.Millisecond
)

// loop is the state of one connection, used by one goroutine at a time. It handles the
// protocol's order of packets, and not sessions.
type loop struct {
	c       *Client
	link    *link.Client
	out     carrier
	arrived chan []byte // copies of packets; nil means that the server's port is closed
	broken  chan error  // error that ended reading

	current *call
	early   *early // an answer to current that came before its ACK
	// numbered has control codes whose answers have carried the sequence number of their
	// request; then a packet without it is not an answer.
	numbered map[wire.Control]bool
	// asked is the sequence number of the last request, answered that of the last one whose
	// answer carried it.
	asked, answered uint32
	until           time.Duration // when tick must handle current; 0 if not at all
	giveUp          time.Duration // when the wait for the answer of current ends
	pause           time.Duration // pause between repetitions of current after its ACK
	heard           time.Duration // time of the last packet
	seeking         bool          // connecting: a node that answers is being searched

	lost []uint32
}

// early is an answer that came before its ACK.
type early struct{ packet wire.Packet }

func (l *loop) now() time.Duration { return time.Since(l.c.epoch) }

// attach sets a new carrier and starts reading from it.
func (l *loop) attach(out carrier) {
	l.out = out
	l.arrived, l.broken = make(chan []byte, 64), make(chan error, 1)
	l.lost = l.link.Reset(l.lost[:0])
	l.early, l.until = nil, 0
	arrived, broken := l.arrived, l.broken
	go func() {
		defer close(arrived)
		for {
			b, err := out.Next()
			if errors.Is(err, syscall.ECONNREFUSED) {
				arrived <- nil
				continue
			}
			if err != nil {
				out.End(err)
				broken <- err
				return
			}
			arrived <- append([]byte(nil), b...)
		}
	}()
}

// detach closes the carrier and waits until its reader has ended.
func (l *loop) detach() {
	if l.out == nil {
		return
	}
	l.out.Interrupt()
	for range l.arrived { // until the reader has ended
	}
	l.out = nil
}

// start sends a call.
func (l *loop) start(k *call) error {
	if k.info.Code != wire.CtrlClientHello {
		token := l.c.Token()
		copy(k.packet[4:20], token[:])
	}
	if k.info.Code == wire.CtrlAck { // shows activity; it has no answer
		l.out.Send(l.out.Peer(), k.packet)
		k.finish(nil)
		return nil
	}
	l.link.Hurry(l.sends())
	seq, err := l.link.Send(l.now(), l.out, k.packet)
	if err != nil {
		return err
	}
	if l.asked == 0 {
		l.answered = seq - 1
	}
	l.asked = seq
	k.seq, k.acked = seq, false
	k.sent++
	l.current, l.early, l.until = k, nil, 0
	return nil
}

// sends is how often a request is sent to one of several hosts before the next host is tried;
// seekSends is the same during the search for a live one, when trying the others is better than
// waiting for a node that may be dead.
const (
	sends     = 8
	seekSends = 3
)

// sends returns how often to send a request; 0 if there is one host.
func (l *loop) sends() int {
	switch {
	case !l.c.others():
		return 0
	case l.seeking:
		return seekSends
	}
	return sends
}

// end finishes the current call.
func (l *loop) end(err error) {
	k := l.current
	l.current, l.early, l.until = nil, nil, 0
	k.finish(err)
}

// timer returns when tick has work, and false if it has none.
func (l *loop) timer() (time.Duration, bool) {
	next, ok := l.link.Next()
	if l.until > 0 && (!ok || l.until < next) {
		next, ok = l.until, true
	}
	return next, ok
}

// errLost says that the server does not acknowledge a request.
var errLost = errors.New("the server does not acknowledge")

// tick handles what is due. An error means that the connection is dead.
func (l *loop) tick() error {
	now := l.now()
	l.lost = l.link.Due(now, l.out, l.lost[:0])
	if len(l.lost) > 0 {
		return errLost
	}
	if l.until == 0 || now < l.until || l.current == nil {
		return nil
	}
	k := l.current
	switch {
	case l.early != nil:
		p := l.early
		l.early = nil
		l.answer(&p.packet)
		if l.current == k { // the early packet was not the answer
			l.wait(now)
		}
	case l.c.others() && now-l.heard >= time.Duration(l.sends())*copyPause:
		return errLost // the node died between its ACK and its answer
	case now < l.giveUp:
		// The server answers a copy of the packet with the answer that it has kept.
		l.link.Stamp(k.packet)
		l.out.Send(l.out.Peer(), k.packet)
		if !l.c.others() {
			l.pause *= 2
		}
		l.until = min(now+l.pause, l.giveUp)
	case k.repeatable && k.sent < maxSends:
		return l.start(k)
	case !k.repeatable:
		l.end(errBroken)
	default:
		l.end(ErrTimeout)
	}
	return nil
}

// receive handles one packet.
func (l *loop) receive(b []byte) {
	l.heard = l.now()
	e := l.link.Receive(l.heard, b, l.out)
	switch e.Kind {
	case link.Acked:
		if k := l.current; k != nil && e.Seq == k.seq {
			l.acked(k)
		}
	case link.Arrived:
		l.packet(e.Packet, b)
	case link.Repeated:
		// A SERVER_HELLO always has sequence number 1, so the answers to two hellos may be
		// identical.
		var p wire.Packet
		if k := l.current; k != nil && k.expects(wire.CtrlServerHello) && p.Decode(b) == nil &&
			p.Ctrl == wire.CtrlServerHello {
			l.packet(&p, b)
		}
	}
}

// acked records that the server has executed the call.
func (l *loop) acked(k *call) {
	k.acked = true
	switch {
	case len(k.info.Replies) == 0:
		l.end(nil)
	case l.early != nil:
		l.until = l.now() + orderWait
	default:
		l.wait(l.now())
	}
}

// wait begins the wait for the answer of an acknowledged call. Over UDP the request is repeated
// a few times, because the server sends an answer only once to an unproven address. If there
// are other hosts, it is also repeated over a connection, because the node may be dead.
func (l *loop) wait(now time.Duration) {
	l.giveUp = now + answerWait
	l.until = l.giveUp
	switch {
	case l.c.others():
		l.pause = copyPause
		l.until = now + l.pause
	case !l.out.Peer().Stream():
		l.pause = l.c.dialer.Repeat
		l.until = now + l.pause
	}
}

// packet decides whether a packet answers the current call or was pushed.
func (l *loop) packet(p *wire.Packet, b []byte) {
	k := l.current
	seq, numbered := p.Ext.Int(wire.KeyRequestSeq)
	if numbered && p.Ctrl != wire.CtrlError {
		l.numbered[p.Ctrl] = true
	}
	switch {
	case numbered && (k == nil || uint32(seq) != k.seq):
		// A late answer to a call that was given up. Its board is still valid, unless a later
		// call was answered, or an earlier client of the same session sent the request.
		if p.Ctrl != wire.CtrlError && uint32(seq)-l.answered-1 < l.asked-l.answered {
			l.c.pushed(p)
		}
	case k == nil || !k.expects(p.Ctrl):
		l.c.pushed(p)
	case numbered:
		l.answered = uint32(seq)
		l.answer(p)
	case l.numbered[p.Ctrl] && mayBePushed(p.Ctrl):
		l.c.pushed(p)
	case k.acked || !mayBePushed(p.Ctrl):
		if l.early != nil {
			l.c.pushed(&l.early.packet) // the early packet was not the answer
			l.early = nil
		}
		l.answer(p)
	default:
		l.hold(p, b)
	}
}

// mayBePushed reports whether packets of a control code also come without a request, so that
// only the order distinguishes an answer from a push.
func mayBePushed(c wire.Control) bool { return c == wire.CtrlBoardUpdate || c == wire.CtrlError }

// hold keeps an answer that came before its ACK. A stream keeps the order of packets, so there
// it is a push.
func (l *loop) hold(p *wire.Packet, b []byte) {
	if l.early != nil || l.out.Peer().Stream() {
		l.c.pushed(p)
		return
	}
	e := new(early)
	if e.packet.Decode(b) == nil && e.packet.Flags&wire.FlagFragment == 0 {
		l.early = e
	}
}

// answer passes a packet to the current call, or handles it as a push if it answers another
// call.
func (l *loop) answer(p *wire.Packet) {
	k := l.current
	if d := denied(p); d != nil {
		l.end(l.c.refused(k, d))
		return
	}
	if !k.take(p) {
		l.c.pushed(p)
		return
	}
	l.end(nil)
}

// refused returns the error of a call for a refusal.
func (c *Client) refused(k *call, d *wamble.Denied) error {
	if k.sent > 1 && d.Code == wamble.MoveRejected {
		return errors.Join(ErrUncertain, d)
	}
	return d
}
