package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"wamble/internal/host"
	"wamble/internal/server"
)

// stopSignals ask a server to stop: the first to stop in order, the second to
// end at once.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// untilStopped returns a context that ends with the first signal, and says what
// happens then. The second ends the process.
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

// sayTo says something to people.
func sayTo(w io.Writer) func(string) {
	return func(text string) { fmt.Fprintln(w, "wamble:", text) }
}

// controlSignals are the signals that ask a server for something else than to stop.
// Two of a kind that come together are one.
type controlSignals struct {
	reload  chan os.Signal
	handoff chan os.Signal
}

func newControlSignals() *controlSignals {
	return &controlSignals{reload: make(chan os.Signal, 1), handoff: make(chan os.Signal, 1)}
}

// listen takes the signals. Before it is called they end the process, or are
// ignored after an exec.
func (c *controlSignals) listen() {
	signal.Notify(c.reload, syscall.SIGHUP)
	signal.Notify(c.handoff, syscall.SIGUSR2)
}

// refuse takes the signals that come while this process waits as a standby, until ctx
// ends, and says what to do instead: what is queued would fire when it takes over.
func (c *controlSignals) refuse(ctx context.Context, log *slog.Logger) {
	for {
		var name string
		select {
		case <-ctx.Done():
			return
		case <-c.reload:
			name = "SIGHUP"
		case <-c.handoff:
			name = "SIGUSR2"
		}
		log.Warn("the signal is ignored: "+host.RestartStandby, "signal", name)
	}
}

// obey reloads and hands over until ctx ends. How it went is in the log and in the
// status.
func (c *controlSignals) obey(ctx context.Context, s *server.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.reload:
			s.Noted("SIGHUP", "reload", func() error { _, err := s.Reload(ctx); return err })
		case <-c.handoff:
			s.Noted("SIGUSR2", "handoff", func() error { return s.HandOff(ctx, "", nil) })
		}
	}
}
