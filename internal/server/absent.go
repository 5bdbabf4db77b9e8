package server

import (
	"context"
	"time"

	"wamble/internal/guard"
)

// absent reads the port of a shard that another node has, and passes the packets to
// supervisor.stray. The zero value reads nothing. It is not safe for concurrent use.
type absent struct {
	stop context.CancelFunc // ends reading; nil if it does not read
	done chan struct{}      // closed when reading has ended
}

// begin starts reading, until end.
func (a *absent) begin(k *supervisor) {
	port := k.Port()
	if a.stop != nil || port == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.done = done
	a.stop = func() {
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
				if k.stray != nil && len(in.Packets)+len(in.Ended) > 0 {
					k.stray(k.name, k.shard.Index, in)
				}
			}
		}, k.caught)
	}()
}

// end stops reading, and reports whether it was reading.
func (a *absent) end() bool {
	if a.stop == nil {
		return false
	}
	a.stop()
	<-a.done
	a.stop = nil
	return true
}
