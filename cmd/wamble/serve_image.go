package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"wamble/internal/server"
	"wamble/internal/systemd"
)

// runServer runs a server until it is to stop, or hands over.
func runServer(cmd *cobra.Command, s *server.Server, hups <-chan os.Signal) error {
	ctx, cancel := untilStopped(cmd.Context(), cmd.ErrOrStderr(), "stopping in order: what is in the journal goes to the database")
	defer cancel()
	go reloadAt(ctx, hups, s)
	go keepManager(ctx, s, func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), "wamble:", err) })
	if !s.Inherited() {
		go greet(ctx, cmd.OutOrStdout(), s)
	}
	wishes := make(chan os.Signal, 1)
	signal.Notify(wishes, syscall.SIGUSR2)
	defer signal.Stop(wishes)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-wishes:
				s.HandOff(ctx, "", nil) // it has told the log
			}
		}
	}()
	stopping := context.AfterFunc(ctx, func() { systemd.Notify(systemd.Stopping) })
	defer stopping() // a handoff is no stop
	return s.Run(ctx)
}
