package loop

import (
	"time"

	"wamble/internal/guard"
	"wamble/internal/link"
	"wamble/internal/transport"
)

// writer sends the packets of one loop from a goroutine of its own: while the kernel takes the packets of
// one step, the loop decides the next. Parcels leave in the order in which they were handed over. A loop
// that is maxParcels ahead waits.
type writer struct {
	full chan *parcel // to be sent; closed at the end
	sent chan *parcel // sent, in the same order
	free []*parcel    // not in use; used by the loop alone
}

// parcel is the packets of one step on their way to the kernel.
type parcel struct {
	port    *transport.Port
	lease   Lease        // of the journal
	commit  *groupCommit // its answered is called when the packets have left; nil: none
	packets link.Batch
	steps   []timedStep // their answers are among the packets
	at      time.Time   // when the kernel had the packets
	err     error       // why they could not be sent
}

const (
	// maxParcels is how many parcels may be under way.
	maxParcels = 4
	// fewPackets is how many packets the loop sends itself when no parcel is under way. Waking another
	// goroutine costs about as much, and takes longer.
	fewPackets = 8
)

func newWriter() *writer {
	w := &writer{full: make(chan *parcel, maxParcels), sent: make(chan *parcel, maxParcels)}
	for range maxParcels {
		w.free = append(w.free, new(parcel))
	}
	return w
}

// run sends parcels until full is closed.
func (w *writer) run() {
	for p := range w.full {
		p.send()
		w.sent <- p
	}
}

func (p *parcel) send() {
	defer guard.Into(&p.err, "the writer")
	p.err = send(p.port, &p.packets, p.lease)
	p.at = time.Now()
	if p.commit != nil {
		p.commit.answered()
	}
}

// send hands packets to the kernel, or drops them if this process may not speak for the profile any more.
func send(port *transport.Port, packets *link.Batch, lease Lease) error {
	if lease != nil && !lease.Holds() {
		packets.Reset()
		return nil
	}
	return port.Send(packets)
}

// hands reports whether the packets of the last step go to the writer.
func (l *loop) hands() bool { return l.instance.out.Packets.Len() > fewPackets }

// send sends the packets of the last step, or hands them to the writer.
func (l *loop) send() error {
	w, out := l.writer, &l.instance.out.Packets
	if err := l.collect(); err != nil || out.Len() == 0 {
		return err
	}
	if len(w.free) == maxParcels && out.Len() <= fewPackets {
		err := send(l.port, out, l.rt.journal().Lease)
		l.times.sentNow(time.Now())
		return err
	}
	if len(w.free) == 0 {
		if err := l.delivered(<-w.sent); err != nil {
			return err
		}
	}
	last := len(w.free) - 1
	p := w.free[last]
	w.free = w.free[:last]
	p.port, p.lease, p.steps, p.commit = l.port, l.rt.journal().Lease, l.times.leave(p.steps), nil
	if l.hands() {
		p.commit = l.instance.commit
	}
	p.packets, *out = *out, p.packets
	out.Reset()
	w.full <- p
	return nil
}

// collect takes back the parcels that have left.
func (l *loop) collect() error {
	for {
		select {
		case p := <-l.writer.sent:
			if err := l.delivered(p); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// flush waits until all parcels have left.
func (l *loop) flush() error {
	var err error
	for len(l.writer.free) < maxParcels {
		if e := l.delivered(<-l.writer.sent); err == nil {
			err = e
		}
	}
	return err
}

func (l *loop) delivered(p *parcel) error {
	l.writer.free = append(l.writer.free, p)
	if p.err == nil {
		l.times.sent(p.steps, p.at)
	}
	return p.err
}
