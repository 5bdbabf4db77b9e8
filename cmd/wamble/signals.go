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

// stopSignals ask a server to stop: the first to stop in order, the second to
// end at once.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// untilStopped returns a context that ends with the first signal, and says what
// happens then. The second ends the process.
func untilStopped(ctx context.Context, errOut io.Writer, what string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
	go func() {
		<-signals
		fmt.Fprintf(errOut, "wamble: %s; once more ends it at once\n", what)
		cancel()
		<-signals
		fmt.Fprintln(errOut, "wamble: ended at once")
		os.Exit(1)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// hangUps returns the signals that ask for a reload. Before it is called, they
// end the process.
func hangUps() <-chan os.Signal {
	signals := make(chan os.Signal, 1) // two that come together are one
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}

// reloadAt reads the configuration again at every signal, until ctx ends. How it
// went is in the log and in the status.
func reloadAt(ctx context.Context, signals <-chan os.Signal, s *server.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			s.Reload(ctx)
		}
	}
}
