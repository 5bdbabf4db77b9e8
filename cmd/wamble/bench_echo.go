package main

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"wamble/internal/loader"
)

func benchEchoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "echo",
		Short: "Serve the bare echo that bench compares with, until standard input ends",
		Long: `Echo answers moves with the packets of a server and knows nothing of chess. Bench
starts it by itself; it prints its address and ends with its standard input.`,
		Example: "  wamble bench echo",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := loader.OpenEcho(netip.AddrPortFrom(netip.IPv6Unspecified(), 0))
			if err != nil {
				return err
			}
			failed := make(chan error, 1)
			go func() { failed <- e.Serve() }()
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "echo on udp://%s\n", reachable(e.Addr())); err != nil {
				return err
			}
			io.Copy(io.Discard, cmd.InOrStdin())
			e.Close()
			<-failed // it ended because it was closed
			return nil
		},
	}
}
