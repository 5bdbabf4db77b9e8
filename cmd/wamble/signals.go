package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals ask a server to stop: the first to stop in order, the second to
// end at once.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// untilStopped returns a context that ends with the first signal. The second
// ends the process.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals...)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(1)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}
