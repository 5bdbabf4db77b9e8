package loop

import (
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/transport"
)

// intake orders the datagrams of a loop when more have come than one read returns: it takes all of them out of the
// socket, gives the first ones to the next step, and keeps the others for later steps, or drops them. A datagram that
// it drops is never an input of the profile.
type intake struct {
	began   time.Time // the epoch of queue
	queue   link.Intake
	packets []transport.Packet // of the next step
	streams []transport.Packet // packets of connections that have just arrived
	ages    ByClass[Histogram]
}

const (
	// stepDatagrams is how many datagrams a step gets out of the intake, and stepRest how many of link.ClassRest: few,
	// because players wait for the end of the step.
	stepDatagrams = 2 * transport.ReadBatch
	stepRest      = 32
	// maxDrained bounds the batches that are read in one round: a flood has no end.
	maxDrained = 64
	// maxAge is the longest time that a datagram can have waited. One that seems older, or to come from the future,
	// counts as new: the clock was set.
	maxAge = time.Minute
)

func newIntake() *intake {
	return &intake{began: time.Now(), ages: newAges()}
}

func newAges() (ages ByClass[Histogram]) {
	for class := range ages {
		ages[class] = newHistogram(LatencyBounds)
	}
	return ages
}

// hasWork reports whether datagrams wait in the intake.
func (q *intake) hasWork() bool { return q.queue.Len() > 0 }

// socket is the part of transport.Port that an intake uses, and classifier that of profile.Profile.
type (
	socket interface {
		Drain() (packets []transport.Packet, full bool, err error)
	}
	classifier interface {
		Classify(from wamble.Peer, packet []byte) (class link.Class, cookie bool)
	}
)

// order takes what waits in the socket if the arrivals say that there is more, and returns the arrivals with the
// datagrams that are to be processed next.
func (q *intake) order(c classifier, port socket, in transport.Arrivals) (transport.Arrivals, error) {
	q.streams = q.streams[:0]
	q.add(c, in.Packets)
	var err error
	for n := 0; in.Full && n < maxDrained && err == nil; n++ {
		var more []transport.Packet
		more, in.Full, err = port.Drain()
		q.add(c, more)
	}
	in.Packets = q.next()
	return in, err
}

// add puts datagrams into the queue, and packets of connections, of which none may be dropped, into streams.
func (q *intake) add(c classifier, packets []transport.Packet) {
	clock := time.Now()
	now := clock.Sub(q.began)
	for i := range packets {
		d := &packets[i]
		if d.Peer.Stream() {
			q.streams = append(q.streams, *d)
			continue
		}
		age := time.Duration(clock.UnixNano() - d.At)
		if age < 0 || age > maxAge {
			age = 0
		}
		class, cookie := c.Classify(d.Peer, d.Data)
		q.queue.Add(now, class, cookie, d.Peer, now-age, d.Data)
	}
}

// next takes the datagrams of the next step, and puts the packets of connections behind them.
func (q *intake) next() []transport.Packet {
	q.packets = q.packets[:0]
	now := time.Since(q.began)
	for rest := 0; len(q.packets) < stepDatagrams && rest < stepRest; {
		class, w := q.queue.Next(now)
		if w == nil {
			break
		}
		if class == link.ClassRest {
			rest++
		}
		q.ages[class].observe((now - w.At).Seconds(), 1)
		q.packets = append(q.packets, transport.Packet{Peer: w.From, Data: w.Data})
	}
	q.packets = append(q.packets, q.streams...)
	return q.packets
}

// figures returns the ages of the datagrams that steps have got out of the intake.
func (q *intake) figures() (ages ByClass[Histogram]) {
	for class := range q.ages {
		ages[class] = q.ages[class].clone()
	}
	return ages
}
