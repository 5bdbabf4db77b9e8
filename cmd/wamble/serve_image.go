package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"wamble/internal/server"
	"wamble/internal/systemd"
)

// runServer runs a server until it is to stop, or becomes another image.
func runServer(cmd *cobra.Command, s *server.Server, asked *wishes) error {
	ctx, cancel := untilStopped(cmd.Context(), cmd.ErrOrStderr(), "stopping in order: what is in the journal goes to the database")
	defer cancel()
	go asked.grant(ctx, s)
	go keepManager(ctx, s, func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), "wamble:", err) })
	if !s.Inherited() {
		go greet(ctx, cmd.OutOrStdout(), s)
	}
	stopping := context.AfterFunc(ctx, func() { systemd.Notify(systemd.Stopping) })
	defer stopping() // one that ends by itself was not stopped
	return s.Run(ctx)
}
