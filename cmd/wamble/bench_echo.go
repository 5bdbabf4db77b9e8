package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/loader"
)

func benchEchoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "Serve the bare echo that bench compares with, until standard input ends",
		Long: `Echo answers moves with the packets of a server and knows nothing of chess. Bench
starts it by itself; it prints its address and ends with its standard input.`,
		Example: "  wamble bench echo",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var log *os.File
			if keep != "" {
				var err error
				if log, err = os.OpenFile(keep, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
					return err
				}
				defer log.Close()
			}
			e, err := loader.OpenEcho(netip.AddrPortFrom(netip.IPv6Unspecified(), 0), log)
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
			<-failed // the error of closing it
			return nil
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "append what was asked to this `file`, and sync it before each answer")
	return cmd
}
