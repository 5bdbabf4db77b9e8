package server

import (
	"context"
	"time"

	"wamble/internal/guard"
)

// remotePort reads the port of a shard that another node has, and passes the packets to
// supervisor.forward. The zero value reads nothing. It is not safe for concurrent use.
type remotePort struct {
	stop context.CancelFunc // ends reading; nil if it does not read
	done chan struct{}      // closed when reading has ended
}

// begin starts reading, until end.
func (p *remotePort) begin(sup *supervisor) {
	port := sup.Port()
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
				if sup.forward != nil && len(in.Packets)+len(in.Ended) > 0 {
					sup.forward(sup.name, sup.shard.Index, in)
				}
			}
		}, sup.reportPanic)
	}()
}

// end stops reading, and reports whether it was reading.
func (p *remotePort) end() bool {
	if p.stop == nil {
		return false
	}
	p.stop()
	<-p.done
	p.stop = nil
	return true
}
