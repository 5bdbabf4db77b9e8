package server

import (
	"context"
	"time"

	"wamble/internal/guard"
)

// absent reads the port of a shard that is on another machine: new players go on to a
// shard that is here, and whoever belongs to the other one is not kept waiting by a full
// socket. Its zero value reads nothing. It belongs to whoever changes what runs.
type absent struct {
	stop context.CancelFunc // nil: nobody reads
	done chan struct{}
}

// begin reads until end.
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

// end reports whether it has read.
func (a *absent) end() bool {
	if a.stop == nil {
		return false
	}
	a.stop()
	<-a.done
	a.stop = nil
	return true
}
