package cluster

import (
	"context"
	"time"

	"wamble/internal/guard"
	"wamble/internal/transport"
)

// RemotePort reads the port of a shard that another node has, and passes the packets on. The zero
// value reads nothing. It is not safe for concurrent use.
type RemotePort struct {
	stop context.CancelFunc // ends reading; nil if it does not read
	done chan struct{}      // closed when reading has ended
}

// Begin starts reading, until End. Port may be nil.
func (p *RemotePort) Begin(port *transport.Port, forward func(transport.Arrivals), panicked func(error)) {
	if p.stop != nil || port == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.done = done
	p.stop = func() {
		cancel()
		port.Wake()
	}
	go func() {
		defer close(done)
		guard.Run("the port of an absent shard", func() {
			for ctx.Err() == nil {
				in, err := port.Receive(time.Time{})
				if err != nil {
					return // the port is closed
				}
				if len(in.Packets)+len(in.Ended) > 0 {
					forward(in)
				}
			}
		}, panicked)
	}()
}

// End stops reading, and reports whether it was reading.
func (p *RemotePort) End() bool {
	if p.stop == nil {
		return false
	}
	p.stop()
	<-p.done
	p.stop = nil
	return true
}
