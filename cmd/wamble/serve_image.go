package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"wamble/internal/server"
)

// runServer runs a server until it is to stop, or hands over.
func runServer(cmd *cobra.Command, s *server.Server, hups <-chan os.Signal) error {
	ctx, cancel := untilStopped(cmd.Context(), cmd.ErrOrStderr(), "stopping in order: what is in the journal goes to the database")
	defer cancel()
	go reloadAt(ctx, hups, s)
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
	return s.Run(ctx)
}
