package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"wamble/internal/server"
)

// stopSignals has the signals that stop a server: the first stops it in order, the second at
// once.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// untilStopped returns a context that ends with the first signal, at which say is called with
// what happens. The second signal ends the process.
func untilStopped(ctx context.Context, say func(text string), what string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
	go func() {
		<-signals
		say(what + "; once more ends it at once")
		cancel()
		<-signals
		say("ended at once")
		os.Exit(1)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// sayTo returns a function that writes a message to w.
func sayTo(w io.Writer) func(string) {
	return func(text string) { fmt.Fprintln(w, "wamble:", text) }
}

// controlSignals receives the signals for a reload and a handoff. Several that arrive
// together count as one.
type controlSignals struct {
	reload  chan os.Signal
	handoff chan os.Signal
}

func newControlSignals() *controlSignals {
	return &controlSignals{reload: make(chan os.Signal, 1), handoff: make(chan os.Signal, 1)}
}

// listen begins to receive the signals. Before that they end the process, or are ignored after
// an exec.
func (c *controlSignals) listen() {
	signal.Notify(c.reload, syscall.SIGHUP)
	signal.Notify(c.handoff, syscall.SIGUSR2)
}

// handle reloads and hands over as signals ask, until ctx ends. Log and status have the results.
func (c *controlSignals) handle(ctx context.Context, s *server.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.reload:
			s.RunAudited("SIGHUP", "reload", func() error { _, err := s.Reload(ctx); return err })
		case <-c.handoff:
			s.RunAudited("SIGUSR2", "handoff", func() error { return s.HandOff(ctx, "", nil) })
		}
	}
}
